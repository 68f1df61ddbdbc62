"""What a job's state is called: Slurm's own set of states and our phase become one of a few plain words."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class Phase(TextChoices):
    """Where a job is between the portal and Slurm."""

    REQUESTED = "requested", _("handing to Slurm")
    HANDING = "handing", _("being handed to Slurm")
    CONFIRMING = "confirming", _("checking with Slurm")
    ACCEPTED = "accepted", _("in Slurm")
    REFUSED = "refused", _("refused by Slurm")
    CANCELLED = "cancelled", _("cancelled before Slurm")
    LOST = "lost", _("not found in Slurm")
    ENDED = "ended", _("ended")


# Which phase may follow which; the database holds the same table (a trigger).
NEXT: dict[Phase, tuple[Phase, ...]] = {
    Phase.REQUESTED: (Phase.HANDING, Phase.CANCELLED, Phase.REFUSED),
    Phase.HANDING: (Phase.ACCEPTED, Phase.CONFIRMING, Phase.REFUSED, Phase.REQUESTED, Phase.CANCELLED),
    Phase.CONFIRMING: (Phase.ACCEPTED, Phase.REQUESTED, Phase.CANCELLED, Phase.REFUSED, Phase.LOST, Phase.ENDED),
    Phase.ACCEPTED: (Phase.ENDED, Phase.CONFIRMING, Phase.LOST),
    Phase.ENDED: (Phase.ACCEPTED,),  # requeued after its end
    Phase.LOST: (Phase.ACCEPTED, Phase.ENDED),  # it came back from slurmdbd
    Phase.REFUSED: (),
    Phase.CANCELLED: (),
}
OPEN = (Phase.REQUESTED, Phase.HANDING, Phase.CONFIRMING, Phase.ACCEPTED)


class State(TextChoices):
    """The word a person reads."""

    HANDING = "handing", _("handing to Slurm")
    CONFIRMING = "confirming", _("checking with Slurm")
    HELD = "held", _("held in queue")
    WAITING = "waiting", _("waiting")
    REQUEUED = "requeued", _("requeued")
    RUNNING = "running", _("running")
    ENDING = "ending", _("ending")
    SUSPENDED = "suspended", _("suspended")
    COMPLETED = "completed", _("completed")
    FAILED = "failed", _("failed")
    TIMEOUT = "timeout", _("time limit reached")
    OUT_OF_MEMORY = "out_of_memory", _("out of memory")
    NODE_FAILURE = "node_failure", _("node failure")
    PREEMPTED = "preempted", _("preempted")
    CANCELLED = "cancelled", pgettext_lazy("job", "cancelled")
    REFUSED = "refused", _("refused by Slurm")
    LOST = "lost", _("not found in Slurm")
    UNKNOWN = "unknown", _("state not known to the portal")


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """A state as a page draws it: css class `state--<css>` and icon of the sprite."""

    key: str
    label: object
    icon: str
    css: str


_LOOK: dict[State, tuple[str, str]] = {
    State.HANDING: ("s-send", "moving"),
    State.CONFIRMING: ("s-ask", "moving"),
    State.HELD: ("s-hold", "wait"),
    State.WAITING: ("s-wait", "wait"),
    State.REQUEUED: ("s-again", "wait"),
    State.RUNNING: ("s-run", "run"),
    State.ENDING: ("s-run", "run"),
    State.SUSPENDED: ("s-hold", "wait"),
    State.COMPLETED: ("s-ok", "ok"),
    State.FAILED: ("s-bad", "bad"),
    State.TIMEOUT: ("s-time", "time"),
    State.OUT_OF_MEMORY: ("s-mem", "bad"),
    State.NODE_FAILURE: ("s-node", "out"),
    State.PREEMPTED: ("s-pre", "out"),
    State.CANCELLED: ("s-off", "off"),
    State.REFUSED: ("s-bad", "bad"),
    State.LOST: ("s-ask", "out"),
    State.UNKNOWN: ("s-off", "off"),
}

# Slurm's base states and flags, most telling first.
_SLURM: tuple[tuple[str, State], ...] = (
    ("REQUEUED", State.REQUEUED),
    ("REQUEUE_FED", State.REQUEUED),
    ("EXPEDITING", State.REQUEUED),  # 26.05: about to be requeued ahead of others
    ("REQUEUE_HOLD", State.HELD),
    ("SPECIAL_EXIT", State.HELD),
    ("RESV_DEL_HOLD", State.HELD),
    ("OUT_OF_MEMORY", State.OUT_OF_MEMORY),
    ("TIMEOUT", State.TIMEOUT),
    ("DEADLINE", State.TIMEOUT),
    ("NODE_FAIL", State.NODE_FAILURE),
    ("BOOT_FAIL", State.NODE_FAILURE),
    ("LAUNCH_FAILED", State.NODE_FAILURE),
    ("RECONFIG_FAIL", State.NODE_FAILURE),
    ("PREEMPTED", State.PREEMPTED),
    ("CANCELLED", State.CANCELLED),
    ("REVOKED", State.CANCELLED),
    ("FAILED", State.FAILED),
    ("COMPLETING", State.ENDING),
    ("STAGE_OUT", State.ENDING),
    ("SIGNALING", State.RUNNING),
    ("STOPPED", State.SUSPENDED),
    ("SUSPENDED", State.SUSPENDED),
    ("RESIZING", State.RUNNING),
    ("UPDATE_DB", State.RUNNING),
    ("RUNNING", State.RUNNING),
    ("CONFIGURING", State.RUNNING),
    ("POWER_UP_NODE", State.RUNNING),
    ("COMPLETED", State.COMPLETED),
    ("PENDING", State.WAITING),
)
ENDED_STATES = frozenset(
    [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    ]
)
_HELD_REASONS = frozenset({"JobHeldUser", "JobHeldAdmin"})


def is_over(slurm_states: Collection[str]) -> bool:
    """Whether Slurm's set says the job has ended for good: no flag says it is coming back or still on its nodes."""
    flags = set(slurm_states)
    return bool(flags & ENDED_STATES) and not flags & {"COMPLETING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"}


def from_slurm(slurm_states: Collection[str], reason: str = "") -> State:
    """Slurm's set of states (upper case) in one word; what we do not know is said so, never guessed."""
    flags = set(slurm_states)
    for name, state in _SLURM:
        if name in flags:
            return State.HELD if state is State.WAITING and reason in _HELD_REASONS else state
    return State.UNKNOWN


def word(phase: Phase | str, slurm_states: Collection[str] = (), reason: str = "") -> State:
    """The word for a job from our phase and, once Slurm has it, from Slurm's states."""
    match Phase(phase):
        case Phase.REQUESTED | Phase.HANDING:
            return State.HANDING
        case Phase.CONFIRMING:
            return State.CONFIRMING
        case Phase.REFUSED:
            return State.REFUSED
        case Phase.CANCELLED:
            return State.CANCELLED
        case Phase.LOST:
            return State.LOST
    return from_slurm(slurm_states, reason)


def view(state: State | str) -> View:
    """How a page draws this state."""
    known = State(state)
    icon, css = _LOOK[known]
    return View(known.value, known.label, icon, css)
