"""The signed ticket that names whose uid may do what beneath which folder, and until when: minutes, not days."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from logs import sealed
from logs.sealed import MAX_TEXT, BadTicket
from logs.tickets import LOWEST_UID, check_path

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = ["MAX_TEXT", "VERSION", "BadTicket", "Ticket", "check", "peek", "sign", "verify"]

VERSION = "bft1"  # signed with the rest: a log ticket is no file ticket, though one key signs both
LONGEST = 3600  # seconds a ticket may be ahead of its end: one signed for longer is refused whoever signed it
READ, WRITE = "r", "rw"
_NO_PERSON = frozenset({65534, 65535, 2**32 - 1})  # nobody, its 16-bit cousin, "no uid": squashed root on NFS
_NAMES = {
    "cluster": re.compile(r"[A-Za-z0-9_.-]{1,64}"),
    "project": re.compile(r"[a-z][a-z0-9_-]{1,30}"),
    "user": re.compile(r"[a-z_][a-z0-9_-]{0,31}"),
    "rights": re.compile(r"rw?"),
    "key_id": re.compile(r"[0-9a-f]{16}"),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Ticket:
    """A person (uid and login), the folder they may reach into, "r" or "rw", the end in epoch seconds."""

    cluster: str
    project: str
    uid: int
    user: str
    root: str
    rights: str
    not_after: int
    key_id: str

    @property
    def may_write(self) -> bool:
        """Whether changes are allowed, too."""
        return self.rights == WRITE


_FIELDS = {field.name: (int if field.type == "int" else str) for field in dataclasses.fields(Ticket)}
_SIGNED = sorted(_FIELDS.keys() - {"key_id"})


def sign(ticket: Ticket, private_key: Ed25519PrivateKey) -> str:
    """Give the ticket's text, signed; raises BadTicket on one that would not verify."""
    check(ticket)
    return sealed.seal(VERSION, ticket.key_id, _payload(ticket), private_key)


def verify(text: str, public_keys: Mapping[str, Ed25519PublicKey], now: float) -> Ticket:
    """Check signature, form and time (`now`: epoch seconds), in that order, and give what was signed."""
    sealed.prove(VERSION, text, public_keys)
    ticket = peek(text)
    if now > ticket.not_after:
        raise BadTicket("past its time")
    if ticket.not_after > now + LONGEST:
        raise BadTicket("ends later than a ticket may")
    return ticket


def peek(text: str) -> Ticket:
    """Parse without any proof."""
    name, payload = sealed.payload_of(VERSION, text)
    try:
        values: Any = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise BadTicket("the payload is not JSON") from error
    if not isinstance(values, dict) or sorted(values) != _SIGNED:
        raise BadTicket("the payload has not the fields of a ticket")
    ticket = Ticket(key_id=name, **values)
    check(ticket)
    if _payload(ticket) != payload:
        raise BadTicket("not written in the one canonical way")
    return ticket


def check(ticket: Ticket) -> None:
    """Raise BadTicket unless every field has the type, range and form a ticket may carry."""
    for name, kind in _FIELDS.items():
        if type(getattr(ticket, name)) is not kind:  # bool is an int to isinstance
            raise BadTicket(f"{name} is not {kind.__name__}")
    for name, form in _NAMES.items():
        if not form.fullmatch(getattr(ticket, name)):
            raise BadTicket(f"{name} has not the form it must have")
    if not LOWEST_UID <= ticket.uid < 2**32 or ticket.uid in _NO_PERSON:
        raise BadTicket("uid is not a person's")
    if not 1 <= ticket.not_after < 2**40:
        raise BadTicket("not_after is out of range")
    check_path(ticket.root)
    if ticket.root.count("/") < 2:
        raise BadTicket("a root lies at least one folder deep")


def _payload(ticket: Ticket) -> bytes:
    values = {name: getattr(ticket, name) for name in _SIGNED}
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
