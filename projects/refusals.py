"""Why a change was not made, for whoever asked: the field it belongs to, one sentence, and the API's status."""

from __future__ import annotations

import dataclasses

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.directory.errors import DirectoryDown, NotAdmitted, Reason, Rejected
from accounts.lookup import TooShort
from accounts.pace import TooManySearches
from projects.services import AlreadyAsked, AlreadyMember, Decided, LastPI, NotMember, PastExpiry


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """One reason; `field` "" where no field is to blame."""

    status: int
    kind: str
    field: str
    words: str | Promise


_DOWN = _("The institutional directory does not answer. Nothing was changed; try again in a minute.")
_TABLE: dict[type[Exception], Refusal] = {
    AlreadyMember: Refusal(409, "already-member", "person", _("This person is a member already.")),
    NotMember: Refusal(409, "not-member", "", _("This membership is over, or was changed a moment ago. Look again.")),
    LastPI: Refusal(409, "last-pi", "role", _("A project keeps a PI without an end date. Name another PI first.")),
    PastExpiry: Refusal(422, "past-expiry", "until", _("The last day cannot lie in the past.")),
    AlreadyAsked: Refusal(409, "already-asked", "why", _("You have asked before; the answer is still to come.")),
    Decided: Refusal(409, "decided", "", _("Somebody has answered this request already.")),
    DirectoryDown: Refusal(503, "directory-down", "person", _DOWN),
    TooManySearches: Refusal(429, "too-fast", "q", _("That was very many searches. Wait a minute.")),
    TooShort: Refusal(422, "too-short", "q", _("Type at least two letters.")),
}
_GONE = Refusal(422, "no-such-person", "person", _("The institutional directory has no such person any more."))
_LOCKED = Refusal(422, "locked", "person", _("This sign-in is locked in the institutional directory."))
_NOT_ADMITTED = Refusal(
    422, "not-admitted", "person",
    _("The portal cannot admit this person: a cluster administrator has to look at their login."),
)  # fmt: skip
REFUSALS: tuple[type[Exception], ...] = (*_TABLE, Rejected, NotAdmitted)


def of(error: Exception) -> Refusal:
    """The reason behind one of REFUSALS."""
    if isinstance(error, Rejected):
        return _LOCKED if error.reason is Reason.LOCKED else _GONE
    if isinstance(error, NotAdmitted):
        return _NOT_ADMITTED
    return _TABLE[type(error)]
