"""Why a sign-in ends without a session: the words of the trail, and the three kinds of error behind them."""

from __future__ import annotations

import uuid
from enum import StrEnum

from django.core.exceptions import PermissionDenied


class Reason(StrEnum):
    """The true reason, for the trail and for `doctor`; the page shows less."""

    MALFORMED = "empty, too long or not text"
    UNKNOWN = "no such person in the directory"
    AMBIGUOUS = "more than one person in the directory"
    UNUSABLE = "the directory entry lacks its id or login"
    WRONG_PASSWORD = "wrong password"  # noqa: S105 - a reason, not a password
    LOCKED = "locked in the directory"
    EXPIRED = "password expired"
    DISABLED = "disabled in the directory"
    NOT_ADMITTED = "the directory does not admit this person"
    MUST_CHANGE = "password must be changed first"
    GRACE = "password expired, grace sign-in"
    INACTIVE = "closed in the portal"
    UID_TAKEN = "uid number or login belongs to somebody else"
    THROTTLED = "too many attempts"
    DIRECTORY_DOWN = "the directory cannot be reached"


class DirectoryDown(Exception):
    """The directory gave no usable answer: nothing is known about the person. `silent`: it did not answer at all."""

    def __init__(self, cause: str, *, silent: bool = False) -> None:
        super().__init__(cause)
        self.cause, self.silent = cause, silent


class Rejected(PermissionDenied):
    """Login and password do not make a person: counted by the throttle, and all alike to whoever typed them."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


class NotAdmitted(Exception):
    """The password was right and there is still no session; not counted, and the page says what to do next."""

    def __init__(self, reason: Reason, directory_id: uuid.UUID | None = None) -> None:
        super().__init__(str(reason))
        self.reason, self.directory_id = reason, directory_id
