"""What the directory's password policy says of a bind: controls of OpenLDAP, sub-codes of Active Directory."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

import ldap
from ldap.controls import DecodeControlTuples
from ldap.controls.ppolicy import PasswordPolicyControl

from accounts.directory.errors import NotAdmitted, Reason

EXPIRED, LOCKED, CHANGE_AFTER_RESET = 0, 1, 2  # PasswordPolicyResponseValue.error
_AD_DATA = re.compile(r"\bdata ([0-9a-f]{3,4})\b")
AD_REASONS = {
    "525": Reason.UNKNOWN,
    "530": Reason.NOT_ADMITTED,  # not at this time
    "531": Reason.NOT_ADMITTED,  # not from this machine
    "532": Reason.EXPIRED,
    "533": Reason.DISABLED,
    "701": Reason.DISABLED,  # the entry's own end date
    "775": Reason.LOCKED,
}
AD_MUST_CHANGE = "773"


@dataclasses.dataclass(frozen=True, slots=True)
class Policy:
    """What came with an accepted password."""

    must_change: bool = False
    grace_left: int | None = None
    expires_in_seconds: int | None = None

    @classmethod
    def heard(cls, controls: Iterable[Any]) -> Policy:
        """From the controls of a bind's answer."""
        for control in controls:
            if isinstance(control, PasswordPolicyControl):
                return cls(
                    must_change=control.error == CHANGE_AFTER_RESET,
                    grace_left=control.graceAuthNsRemaining,
                    expires_in_seconds=control.timeBeforeExpiration,
                )
        return cls()

    def admit(self) -> None:
        """Raise NotAdmitted where the password has to be changed before anything else."""
        if self.must_change:
            raise NotAdmitted(Reason.MUST_CHANGE)
        if self.grace_left is not None:
            raise NotAdmitted(Reason.GRACE)


def reason_of(error: ldap.LDAPError) -> Reason:
    """Why a password was refused, as far as the server says; NotAdmitted for a right one that must be changed."""
    said = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    found = _AD_DATA.search(str(said.get("info", "")))
    if found and found[1] == AD_MUST_CHANGE:
        raise NotAdmitted(Reason.MUST_CHANGE) from error
    if found:
        return AD_REASONS.get(found[1], Reason.WRONG_PASSWORD)
    for control in DecodeControlTuples(said.get("ctrls") or []):
        if isinstance(control, PasswordPolicyControl) and control.error in (EXPIRED, LOCKED):
            return Reason.EXPIRED if control.error == EXPIRED else Reason.LOCKED
    return Reason.LOCKED if isinstance(error, ldap.CONSTRAINT_VIOLATION) else _plain(error)


def _plain(error: ldap.LDAPError) -> Reason:
    return Reason.DISABLED if isinstance(error, ldap.UNWILLING_TO_PERFORM) else Reason.WRONG_PASSWORD
