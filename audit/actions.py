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
    MEMBER_REMOVED = "member.removed", _("member removed")
    ALLOCATION_CREATED = "allocation.created", _("allocation created")
    JOB_SUBMITTED = "job.submitted", _("job submitted")
    JOB_REFUSED = "job.refused", _("job refused by Slurm")
    JOB_ACCEPTED = "job.accepted", _("job accepted by Slurm")
    JOB_RELEASED = "job.released", _("job released to the queue")
    JOB_UNCONFIRMED = "job.unconfirmed", _("job being checked with Slurm")
    JOB_ADOPTED = "job.adopted", _("job found again in Slurm")
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
