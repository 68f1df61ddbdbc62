"""The signed ticket: the only way to name a job's output files, so that who holds no key names no file."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # most processes only hand tickets on, and the library costs 6 MB in each
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

VERSION = "blt1"  # "blt1.<key id>.<payload>.<signature>"; the signature covers everything before its dot
MAX_TEXT = 16 * 1024  # characters of a whole ticket: two paths at their longest fit
MAX_PATH = 4096  # bytes, the kernel's PATH_MAX
LOWEST_UID = 1000
_NO_PERSON = frozenset({65534, 65535, 2**32 - 1})  # nobody, its 16-bit cousin, "no uid": squashed root on NFS
_CLUSTER = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_KEY_ID = re.compile(r"[0-9a-f]{16}")
_TEXT = re.compile(r"[A-Za-z0-9_-]+")


class BadTicket(Exception):
    """The ticket is malformed, not signed by a key that counts, or past its time; nothing was opened."""


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
    body = f"{VERSION}.{ticket.key_id}.{_encode(_payload(ticket))}"
    text = f"{body}.{_encode(private_key.sign(body.encode()))}"
    if len(text) > MAX_TEXT:
        raise BadTicket("longer than a ticket may be")
    return text


def verify(text: str, public_keys: Mapping[str, Ed25519PublicKey], now: float) -> Ticket:
    """Check signature, form and time (`now`: epoch seconds), in that order, and give what was signed."""
    from cryptography.exceptions import InvalidSignature

    name, body, signature = _split(text)
    key = public_keys.get(name)
    if key is None:
        raise BadTicket("signed by a key that does not count")
    try:
        key.verify(signature, body.encode())
    except InvalidSignature as error:
        raise BadTicket("the signature does not fit") from error
    return current(peek(text), now)


def peek(text: str) -> Ticket:
    """Parse without any proof: for who only wants to know when it ends and hands it on to be verified."""
    name, body, _ = _split(text)
    payload = _decode(body.rsplit(".", 1)[1])
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


def _split(text: str) -> tuple[str, str, bytes]:
    """Give (key id, signed part, signature), each of its only possible form."""
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise BadTicket("not a ticket")
    parts = text.split(".")
    if len(parts) != 4 or parts[0] != VERSION or not _KEY_ID.fullmatch(parts[1]):
        raise BadTicket("not a ticket of a version known here")
    return parts[1], text.rsplit(".", 1)[0], _decode(parts[3])


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    if not _TEXT.fullmatch(text):
        raise BadTicket("not base64url")
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (ValueError, binascii.Error) as error:
        raise BadTicket("not base64url") from error
    if _encode(raw) != text:  # unused low bits set: a second spelling of the same bytes
        raise BadTicket("not base64url in its one spelling")
    return raw
