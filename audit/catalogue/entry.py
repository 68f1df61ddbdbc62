"""What one row of the catalogue of events holds."""

from __future__ import annotations

import dataclasses
from enum import StrEnum

from audit.actions import Action, Outcome


class RetentionClass(StrEnum):
    """How long an event's body is kept is set by class, never by action."""

    SESSION = "session"  # sign-ins, sessions, tokens
    ACCESS = "access"  # who read or was denied what
    JOB = "job"
    GOVERNANCE = "governance"  # people, projects, roles, allocations
    DATA = "data"  # datasets, permissions to use them, their use
    TRAIL = "trail"  # exports, retention, preservation, pseudonyms, settings of the trail
    INCIDENT = "incident"  # security incidents and alarms
    OPERATOR = "operator"  # administrators' acts, and differences with Slurm


class Kind(StrEnum):
    """What sort of act it is, for other vocabularies: `audit.mapping` has one row for each."""

    LOGON = "logon"
    LOGOFF = "logoff"
    ACCOUNT_MADE = "account made"
    ACCOUNT_CHANGED = "account changed"
    ACCOUNT_OPENED = "account opened"
    ACCOUNT_CLOSED = "account closed"
    RIGHT_GIVEN = "right given"
    RIGHT_TAKEN = "right taken"
    MEMBER_IN = "member in"
    MEMBER_OUT = "member out"
    MADE = "made"
    CHANGED = "changed"
    ENDED = "ended"
    REFUSAL = "refusal"
    FINDING = "finding"
    ALARM = "alarm"
    INCIDENT_OPENED = "incident opened"
    INCIDENT_CHANGED = "incident changed"
    INCIDENT_CLOSED = "incident closed"
    JOB_MADE = "job made"
    JOB_CHANGED = "job changed"
    JOB_STARTED = "job started"
    JOB_ENDED = "job ended"
    READ = "read"
    TAKEN_OUT = "taken out"
    FILE_MADE = "file made"
    FILE_RENAMED = "file renamed"
    FILE_GONE = "file gone"
    DATA_READ = "data read"
    DATA_WRITTEN = "data written"
    LOG_EXPORTED = "log exported"
    LOG_DELETED = "log deleted"
    LOG_CHANGED = "log changed"
    COMMAND = "command"


# so that code * 10 + place names an event with its outcome
PLACES = {Outcome.DONE: 0, Outcome.REFUSED: 1, Outcome.FAILED: 2}
D, R, F = (Outcome.DONE,), (Outcome.REFUSED,), (Outcome.FAILED,)


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One action: a number that never means anything else, its class, how it may end, what `detail` may hold, why.

    `detail` is words with blanks between; every event may have `token` besides, where an API token was used.
    """

    action: Action
    code: int
    retention_class: RetentionClass
    kind: Kind
    outcomes: tuple[Outcome, ...]
    detail: str
    why: str

    @property
    def fields(self) -> frozenset[str]:
        """The names `detail` may have."""
        return frozenset(self.detail.split()) | {"token"}

    def code_of(self, outcome: str) -> int:
        """The number of this action with this outcome, e.g. 10010 for 1001 done."""
        return self.code * 10 + PLACES[Outcome(outcome)]
