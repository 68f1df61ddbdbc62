"""The one table of roles: which permissions a role in a project, or on the site, brings with it."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from access.permissions import Permission, Scope, codename


class Role(TextChoices):
    """A person's role in a project."""

    PI = "pi", _("PI")
    MANAGER = "manager", _("manager")
    RESEARCHER = "researcher", _("member")
    VIEWER = "viewer", _("read-only")


class SiteRole(TextChoices):
    """A person's role on the whole site, from the directory's groups."""

    NONE = "", _("none")
    OPERATOR = "operator", _("cluster administrator")
    AUDITOR = "auditor", _("auditor")


_VIEWER = frozenset({codename(p) for p in (Permission.PROJECT_VIEW, Permission.JOB_VIEW, Permission.LOG_READ)})
_RESEARCHER = _VIEWER | {codename(Permission.JOB_SUBMIT), codename(Permission.JOB_CANCEL, Scope.OWN)}
_MANAGER = _RESEARCHER | {
    codename(p)
    for p in (
        Permission.JOB_CANCEL,
        Permission.MEMBER_MANAGE,
        Permission.ALLOCATION_REQUEST,
        Permission.TRAIL_READ,
        Permission.PRESET_MANAGE,
    )
}

ROLE_GRANTS: dict[str, frozenset[str]] = {
    Role.VIEWER: _VIEWER,
    Role.RESEARCHER: _RESEARCHER,
    Role.MANAGER: _MANAGER,
    Role.PI: _MANAGER | {codename(Permission.PROJECT_LEAD)},  # a manager makes no PI, nor unmakes one
}

# An auditor reads evidence and metadata everywhere and changes nothing; the content of outputs is not metadata.
SITE_GRANTS: dict[str, frozenset[Permission]] = {
    SiteRole.OPERATOR: frozenset(
        {
            Permission.PROJECT_VIEW,
            Permission.PROJECT_MANAGE,
            Permission.PROJECT_LEAD,
            Permission.MEMBER_MANAGE,
            Permission.JOB_VIEW,
            Permission.JOB_CANCEL,
            Permission.LOG_READ,
            Permission.CLUSTER_VIEW,
            Permission.CLUSTER_OPERATE,
            Permission.TRAIL_READ,
            Permission.TRAIL_GOVERN,
            Permission.DATASET_FIND,
            Permission.DATASET_VIEW,
            Permission.INCIDENT_VIEW,
            Permission.INCIDENT_MANAGE,
            Permission.PRESET_MANAGE,
            Permission.SOFTWARE_MANAGE,
        }
    ),
    SiteRole.AUDITOR: frozenset(
        {
            Permission.PROJECT_VIEW,
            Permission.JOB_VIEW,
            Permission.CLUSTER_VIEW,
            Permission.TRAIL_READ,
            Permission.DATASET_FIND,
            Permission.DATASET_VIEW,
            Permission.INCIDENT_VIEW,
        }
    ),
}


def grants_of(role: str) -> frozenset[str]:
    """The codenames a project role brings."""
    return ROLE_GRANTS.get(role, frozenset())


def site_permissions(site_role: str) -> frozenset[Permission]:
    """The permissions a site role brings on every row."""
    return SITE_GRANTS.get(site_role, frozenset())
