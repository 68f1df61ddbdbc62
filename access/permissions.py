"""The one vocabulary of permissions: noun first, then what is done to it."""

from enum import StrEnum

from django.utils.translation import gettext_lazy as _


class Permission(StrEnum):
    """What a person may do. The value is the codename of the django-guardian grant."""

    PROJECT_VIEW = "project_view"
    PROJECT_LEAD = "project_lead"
    MEMBER_MANAGE = "member_manage"
    ALLOCATION_REQUEST = "allocation_request"
    JOB_VIEW = "job_view"
    JOB_SUBMIT = "job_submit"
    JOB_CANCEL = "job_cancel"
    LOG_READ = "log_read"
    TRAIL_READ = "trail_read"
    PRESET_MANAGE = "preset_manage"
    # on a dataset: by a part in it of one's own, or by a project (Dataset.gate_ways)
    DATASET_FIND = "dataset_find"  # it is there, and whom to ask
    DATASET_VIEW = "dataset_view"
    DATASET_STEWARD = "dataset_steward"
    SELF_MANAGE = "self_manage"  # one's own sessions and tokens: everybody's, nobody else's
    # site-wide: held by a site role, never granted on one project
    CLUSTER_VIEW = "cluster_view"
    CLUSTER_OPERATE = "cluster_operate"
    PROJECT_MANAGE = "project_manage"
    TRAIL_GOVERN = "trail_govern"  # retention, holds, pseudonyms, guest auditors
    INCIDENT_VIEW = "incident_view"
    INCIDENT_MANAGE = "incident_manage"
    SOFTWARE_MANAGE = "software_manage"


class Scope(StrEnum):
    """How far a permission reaches within a project."""

    ANY = "any"
    OWN = "own"  # only rows whose owner is the person


OWN_SUFFIX = "_own"

PROJECT_PERMISSIONS = (
    (Permission.PROJECT_VIEW, _("See the project")),
    (Permission.PROJECT_LEAD, _("Name PIs, let the project be found")),
    (Permission.MEMBER_MANAGE, _("Manage members")),
    (Permission.ALLOCATION_REQUEST, _("Ask for an allocation")),
    (Permission.JOB_VIEW, _("See the project's jobs")),
    (Permission.JOB_SUBMIT, _("Submit jobs")),
    (Permission.JOB_CANCEL, _("Cancel any job of the project")),
    (Permission.LOG_READ, _("Read the output of the project's jobs")),
    (Permission.TRAIL_READ, _("Read the project's audit trail")),
    (Permission.PRESET_MANAGE, _("Make and change the project's presets")),
)
OWN_PERMISSIONS = ((Permission.JOB_CANCEL, _("Cancel own jobs")),)


def codename(permission: Permission, scope: Scope = Scope.ANY) -> str:
    """The django-guardian codename of a permission in a scope."""
    return f"{permission}{OWN_SUFFIX if scope is Scope.OWN else ''}"


def model_permissions() -> list[tuple[str, str]]:
    """All (codename, name) pairs a scope model must declare in Meta.permissions; names are kept in English."""
    plain = [(codename(permission), permission.replace("_", " ")) for permission, _name in PROJECT_PERMISSIONS]
    own = [
        (codename(permission, Scope.OWN), f"{permission} own".replace("_", " ")) for permission, _n in OWN_PERMISSIONS
    ]
    return plain + own
