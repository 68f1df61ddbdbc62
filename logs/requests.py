"""What may be asked of the reader, parsed strictly: one ASGI request in, its checked parameters out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from logs.asking import STREAMS
from logs.chunks import MAX_DATA
from logs.search import MAX_QUERY

MAX_WAIT = 60.0  # seconds one long poll may last
MAX_OFFSET = 2**63 - 1
MAX_MATCHES = 1000


class BadRequest(Exception):
    """A parameter that is missing, malformed or out of range."""


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """A request's ticket and raw parameters, with one method for each kind of value."""

    path: str
    ticket: str
    values: Mapping[bytes, bytes]

    @property
    def stream(self) -> str:
        """stdout (unless named) or stderr."""
        stream = self.values.get(b"stream", b"stdout").decode("latin-1")
        if stream not in STREAMS:
            raise BadRequest("stream is stdout or stderr")
        return stream

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number between two bounds."""
        text = self.values.get(name.encode())
        if text is None:
            return default
        digits = text[1:] if text[:1] == b"-" else text
        if not digits.isdigit() or len(digits) > 19 or not low <= int(text) <= high:
            raise BadRequest(f"{name} is a whole number from {low} to {high}")
        return int(text)

    @property
    def offset(self) -> int:
        """A byte offset; negative: from the end."""
        return self.number("offset", 0, -MAX_OFFSET, MAX_OFFSET)

    @property
    def limit(self) -> int:
        """Bytes wanted at most."""
        return self.number("limit", 65536, 0, MAX_DATA)

    @property
    def wait(self) -> float:
        """Seconds to wait for a first byte."""
        return self.number("wait", 0, 0, int(MAX_WAIT))

    @property
    def generation(self) -> str:
        """The name of the writing of the file the asker has seen; "" for none."""
        name = self.values.get(b"generation", b"").decode("latin-1")
        if len(name) > 256:
            raise BadRequest("generation is the name an earlier answer gave")
        return name

    @property
    def query(self) -> bytes:
        """The bytes to find, within one line."""
        query = self.values.get(b"q", b"")
        if not 0 < len(query) <= MAX_QUERY or b"\n" in query:
            raise BadRequest(f"q is 1 to {MAX_QUERY} bytes without a line end")
        return query


def parse(scope: Mapping[str, Any]) -> Request:
    """Take an ASGI scope apart; raises BadRequest."""
    try:
        pairs = parse_qsl(scope["query_string"], keep_blank_values=True, max_num_fields=16)
    except ValueError as error:
        raise BadRequest("too many parameters") from error
    tickets = [value for name, value in scope["headers"] if name == b"x-log-ticket"]
    ticket = tickets[0].decode("latin-1") if len(tickets) == 1 else ""
    return Request(scope["path"], ticket, dict(pairs))
