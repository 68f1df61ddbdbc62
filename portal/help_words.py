"""What each state of a job means, in one sentence each, for the help page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from jobs.states import State

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

STATES: dict[State, StrOrPromise] = {
    State.HANDING: _("The portal has your request and is handing it to Slurm. It takes seconds; nothing to do."),
    State.CONFIRMING: _(
        "Slurm did not answer in time, so the portal is checking whether the job arrived. "
        "It never submits it twice: do not submit it again."
    ),
    State.WAITING: _("It is in the queue. The job's page says why it waits and who can change that."),
    State.HELD: _("It stays in the queue until somebody releases it."),
    State.REQUEUED: _("Slurm put it back into the queue and will start it from its beginning."),
    State.RUNNING: _("It runs on its nodes; its output appears as it is written."),
    State.ENDING: _("Its script has ended and its nodes are being tidied up."),
    State.SUSPENDED: _("It was stopped for a while and keeps its place; it goes on later."),
    State.COMPLETED: _("Its script ended with exit code 0."),
    State.FAILED: _("Its script ended with another exit code, or by a signal. The job's page says which."),
    State.TIMEOUT: _("It reached its time limit and was ended. What it had written is still there."),
    State.OUT_OF_MEMORY: _("It used more memory than it had asked for."),
    State.NODE_FAILURE: _("Its node broke down. It is not the job's doing."),
    State.PREEMPTED: _("It gave way to a job with a higher priority."),
    State.CANCELLED: _("Somebody ended it. The job's events say who."),
    State.REFUSED: _("Slurm did not accept the request; its words are on the job's page. Nothing ran."),
    State.LOST: _("Slurm has no record of it, in the queue or in its accounting. Ask a cluster administrator."),
    State.UNKNOWN: _("Slurm gives a state for which the portal has no word; it is shown as it is."),
}

# The reasons people meet most; the help page shows the others on demand.
COMMON_REASONS = (
    "Resources",
    "Priority",
    "QOSGrpGRES",
    "QOSGrpGRESMinutes",
    "QOSMaxGRESPerUser",
    "QOSMaxJobsPerUserLimit",
    "Dependency",
    "DependencyNeverSatisfied",
    "BeginTime",
    "JobHeldUser",
    "JobHeldAdmin",
    "ReqNodeNotAvail",
    "NodesUnavailable",
    "PartitionDown",
    "PartitionTimeLimit",
    "BadConstraints",
)
