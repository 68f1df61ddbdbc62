"""The signed ticket: the only way to name a job's output files, so that who holds no key names no file."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from logs import sealed
from logs.sealed import MAX_TEXT, BadTicket

if TYPE_CHECKING:  # most processes only hand tickets on, and the library costs 6 MB in each
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = ["MAX_TEXT", "BadTicket", "Ticket", "check_path", "peek", "sign", "verify"]

VERSION = "blt1"  # "blt1.<key id>.<payload>.<signature>"; the signature covers everything before its dot
MAX_PATH = 4096  # bytes, the kernel's PATH_MAX
LOWEST_UID = 1000
_NO_PERSON = frozenset({65534, 65535, 2**32 - 1})  # nobody, its 16-bit cousin, "no uid": squashed root on NFS
_CLUSTER = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_KEY_ID = re.compile(r"[0-9a-f]{16}")


@dataclasses.dataclass(frozen=True, slots=True)
class Ticket:
    """What the accepted record says of one job's output. Times are epoch seconds; stderr "" is joined with stdout."""

    cluster: str
    job_id: int
    submit_time: int
    uid: int
    user: str
    stdout: str
    stderr: str
    restart_count: int
    not_after: int
    key_id: str

    def path(self, stream: str) -> str:
        """The path of "stdout" or "stderr"; "" where that stream is joined with the other."""
        return self.stdout if stream == "stdout" else self.stderr


_FIELDS = {field.name: (int if field.type == "int" else str) for field in dataclasses.fields(Ticket)}
_SIGNED = sorted(_FIELDS.keys() - {"key_id"})


def sign(ticket: Ticket, private_key: Ed25519PrivateKey) -> str:
    """Give the ticket's text, signed; raises BadTicket on one that would not verify."""
    check(ticket)
    return sealed.seal(VERSION, ticket.key_id, _payload(ticket), private_key)


def verify(text: str, public_keys: Mapping[str, Ed25519PublicKey], now: float) -> Ticket:
    """Check signature, form and time (`now`: epoch seconds), in that order, and give what was signed."""
    sealed.prove(VERSION, text, public_keys)
    return current(peek(text), now)


def peek(text: str) -> Ticket:
    """Parse without any proof: for who only wants to know when it ends and hands it on to be verified."""
    name, payload = sealed.payload_of(VERSION, text)
    ticket = _parse(payload, name)
    if _payload(ticket) != payload:
        raise BadTicket("not written in the one canonical way")
    return ticket


def current(ticket: Ticket, now: float) -> Ticket:
    """Give the ticket back if its time has not passed."""
    if now > ticket.not_after:
        raise BadTicket("past its time")
    return ticket


def check(ticket: Ticket) -> None:
    """Raise BadTicket unless every field has the type, range and form a ticket may carry."""
    for name, kind in _FIELDS.items():
        if type(getattr(ticket, name)) is not kind:  # bool is an int to isinstance
            raise BadTicket(f"{name} is not {kind.__name__}")
    _check_names(ticket)
    _check_numbers(ticket)
    check_path(ticket.stdout)
    if ticket.stderr:
        check_path(ticket.stderr)


def check_path(path: str) -> None:
    """Raise BadTicket unless absolute, normalised and without control characters."""
    try:
        raw = path.encode()
    except UnicodeEncodeError as error:
        raise BadTicket("a path is not text") from error
    if not path.startswith("/") or len(raw) > MAX_PATH or any(byte < 32 or byte == 127 for byte in raw):
        raise BadTicket("a path is not absolute, too long, or holds control characters")
    for part in raw.split(b"/")[1:]:
        if part in (b"", b".", b"..") or len(part) > 255:
            raise BadTicket("a path is not normalised")


def _check_names(ticket: Ticket) -> None:
    for name, form in (("cluster", _CLUSTER), ("user", _USER), ("key_id", _KEY_ID)):
        if not form.fullmatch(getattr(ticket, name)):
            raise BadTicket(f"{name} has not the form it must have")


def _check_numbers(ticket: Ticket) -> None:
    ranges = {"job_id": (1, 2**32), "submit_time": (1, 2**40), "restart_count": (0, 2**16), "not_after": (1, 2**40)}
    for name, (low, high) in ranges.items():
        if not low <= getattr(ticket, name) < high:
            raise BadTicket(f"{name} is out of range")
    if not LOWEST_UID <= ticket.uid < 2**32 or ticket.uid in _NO_PERSON:
        raise BadTicket("uid is not a person's")


def _payload(ticket: Ticket) -> bytes:
    values = {name: getattr(ticket, name) for name in _SIGNED}
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _parse(payload: bytes, name: str) -> Ticket:
    try:
        values: Any = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise BadTicket("the payload is not JSON") from error
    if not isinstance(values, dict) or sorted(values) != _SIGNED:
        raise BadTicket("the payload has not the fields of a ticket")
    ticket = Ticket(key_id=name, **values)
    check(ticket)
    return ticket
