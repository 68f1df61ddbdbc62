"""The catalogue of what the trail can say: noun, then past participle. A code never changes its meaning."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class Outcome(TextChoices):
    """How what was asked for ended."""

    DONE = "done", _("done")
    REFUSED = "refused", _("refused")
    FAILED = "failed", _("failed")


class Channel(TextChoices):
    """The kind of door a call came through."""

    WEB = "web", _("page")
    API = "api", _("API")
    SOCKET = "socket", _("open page")
    TASK = "task", _("background task")
    COMMAND = "command", _("command line")
    SYSTEM = "system", _("system")


class Action(TextChoices):
    """One event each."""

    SIGNED_IN = "session.opened", _("signed in")
    SIGN_IN_REFUSED = "session.refused", _("sign-in refused")
    SIGNED_OUT = "session.closed", _("signed out")
    SESSIONS_ENDED = "session.all_closed", _("all sessions ended")
    TOKEN_ISSUED = "token.issued", _("token issued")
    TOKEN_REVOKED = "token.revoked", _("token revoked")
    TOKEN_REFUSED = "token.refused", _("token refused")
    ROLE_CHANGED = "user.role_changed", _("site role changed")
    USER_CREATED = "user.created", _("user first seen")
    USER_CHANGED = "user.changed", _("login or user number changed")
    USER_CLOSED = "user.closed", _("sign-in closed")
    USER_REOPENED = "user.reopened", _("sign-in open again")
    DIRECTORY_ALARM = "directory.alarm", _("too many people missing in the institutional directory")
    ACCESS_REFUSED = "access.refused", _("access refused")
    PROJECT_CREATED = "project.created", _("project created")
    MEMBER_ADDED = "member.added", _("member added")
    MEMBER_ROLE_CHANGED = "member.role_changed", _("member's role changed")
    PROJECT_CHANGED = "project.changed", _("project changed")
    PROJECT_ARCHIVED = "project.archived", _("project archived")
    PROJECT_REOPENED = "project.reopened", _("project open again")
    PROJECT_REQUESTED = "project.requested", _("project asked for")
    PROJECT_DECIDED = "project.decided", _("request for a project decided")
    MEMBER_EXPIRY_CHANGED = "member.expiry_changed", _("member's expiry changed")
    MEMBER_EXPIRED = "member.expired", _("membership expired")
    MEMBER_REMOVED = "member.removed", _("member removed")
    JOIN_REQUESTED = "member.requested", _("membership asked for")
    JOIN_DECIDED = "member.decided", _("request for membership decided")
    REQUEST_WITHDRAWN = "request.withdrawn", _("request withdrawn")
    PROJECTS_EXPORTED = "project.listed", _("list of projects exported")
    ALLOCATION_CREATED = "allocation.created", _("allocation created")
    ALLOCATION_CHANGED = "allocation.changed", _("allocation changed")
    ALLOCATION_CLOSED = "allocation.closed", _("allocation closed")
    ALLOCATION_WARNED = "allocation.warned", _("allocation almost used up")
    ALLOCATION_REQUESTED = "allocation.requested", _("allocation asked for")
    ALLOCATION_COMMENTED = "allocation.commented", _("request for an allocation commented on")
    ALLOCATION_DECIDED = "allocation.decided", _("request for an allocation decided")
    SHARE_CHANGED = "share.changed", _("member's share changed")
    FUNDING_ADDED = "funding.added", _("funding source added")
    FUNDING_CHANGED = "funding.changed", _("funding source changed")
    LIMITS_APPLIED = "limits.applied", _("limits applied in Slurm")
    LIMITS_FAILED = "limits.failed", _("limits not applied in Slurm")
    DRIFT_SEEN = "drift.seen", _("Slurm differs from the portal")
    DRIFT_ADOPTED = "drift.adopted", _("what was changed in Slurm taken over")
    DRIFT_RESTORED = "drift.restored", _("portal's limits restored in Slurm")
    REPORT_READ = "report.read", _("usage report exported")
    JOB_SUBMITTED = "job.submitted", _("job submitted")
    JOB_REFUSED = "job.refused", _("job refused by Slurm")
    JOB_ACCEPTED = "job.accepted", _("job accepted by Slurm")
    JOB_RELEASED = "job.released", _("job released to the queue")
    JOB_UNCONFIRMED = "job.unconfirmed", _("job being checked with Slurm")
    JOB_ADOPTED = "job.adopted", _("job found again in Slurm")
    JOB_HELD = "job.held", _("job held in the queue, its owner has left")
    JOB_LOST = "job.lost", _("job not found in Slurm")
    JOB_CANCEL_ASKED = "job.cancel_asked", _("cancellation asked for")
    JOB_CANCELLED = "job.cancelled", _("job cancelled")
    JOB_STARTED = "job.started", _("job started")
    JOB_REQUEUED = "job.requeued", _("job requeued")
    JOB_ENDED = "job.ended", _("job ended")
    JOB_DISCOVERED = "job.discovered", _("job submitted outside the portal seen")
    LOG_READ = "log.read", _("output read")
    LOG_DOWNLOADED = "log.downloaded", _("output downloaded")
    TRAIL_READ = "trail.read", _("audit trail read")
    TRAIL_EXPORTED = "trail.exported", _("audit trail exported")
    COMMAND_RUN = "command.run", _("administrator's command run")
