"""What the gate raises; one handler per kind of door, in portal, turns it into an answer and records it."""

from access.permissions import Permission


class Denied(Exception):
    """Somebody asked for what is not theirs."""

    def __init__(self, permission: Permission, subject: str, key: dict[str, object]) -> None:
        super().__init__(f"{permission} on {subject}")
        self.permission, self.subject, self.key = permission, subject, key


class NotFound(Denied):
    """Not theirs to see, or not there at all: the two look alike from outside."""


class Refused(Denied):
    """Theirs to see, not theirs to do; `why` is said to them where it is more than their role."""

    def __init__(self, permission: Permission, subject: str, key: dict[str, object], why: str = "") -> None:
        super().__init__(permission, subject, key)
        self.why = why
