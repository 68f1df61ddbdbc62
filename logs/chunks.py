"""What a reader of logs gets: bytes at an offset with the state of the file around them, and their form on the wire."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

MAX_HEADER = 4096  # bytes of a frame's header line
MAX_DATA = 1024 * 1024  # bytes of one frame


@dataclasses.dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes of one stream from `offset` on (perhaps none), and what is known of the file.

    `state`: open, missing (not there yet), gone (was there), denied, not-regular (a link, a FIFO, a device, a folder),
    not-owner, joined (stderr goes into stdout), failed (the file system gives no answer), busy (ask again).
    `generation`: which writing of the file, see `logs.generations.same`; "" where there is none.
    `age`: seconds since the last byte was written.
    """

    data: bytes
    offset: int
    size: int
    generation: str
    state: str
    age: float


@dataclasses.dataclass(frozen=True, slots=True)
class Generation:
    """The file was written anew (requeue, truncation, another file in its place): what follows starts at 0."""

    generation: str
    size: int


@dataclasses.dataclass(frozen=True, slots=True)
class End:
    """The stream ends for a reason that asking again with the same ticket does not change."""

    reason: str


Event = Chunk | Generation | End
_KINDS: dict[str, type[Chunk] | type[Generation] | type[End]] = {"chunk": Chunk, "generation": Generation, "end": End}
_NAMES = {kind: name for name, kind in _KINDS.items()}


class BadFrame(Exception):
    """Bytes that are no frame of ours."""


def encode(event: Event) -> bytes:
    """One frame: a JSON header line, then exactly the bytes its "n" announces."""
    fields = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    data: bytes = fields.pop("data", b"")
    header = {"kind": _NAMES[type(event)], "n": len(data), **fields}
    return json.dumps(header, separators=(",", ":")).encode() + b"\n" + data


class Frames:
    """Takes bytes as they come and gives the events that are complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._header: dict[str, Any] | None = None

    def feed(self, data: bytes) -> Iterator[Event]:
        """Add bytes; give each event completed by them. Raises BadFrame."""
        self._buffer += data
        while (event := self._next()) is not None:
            yield event

    def _next(self) -> Event | None:
        if self._header is None:
            self._header = self._take_header()
        if self._header is None or len(self._buffer) < self._header["n"]:
            return None
        header, self._header = self._header, None
        data = bytes(memoryview(self._buffer)[: header["n"]])
        del self._buffer[: header["n"]]
        return _event(header, data)

    def _take_header(self) -> dict[str, Any] | None:
        end = self._buffer.find(b"\n", 0, MAX_HEADER)
        if end < 0:
            if len(self._buffer) >= MAX_HEADER:
                raise BadFrame("a header line without end")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return _header(line)


def _header(line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadFrame("a header that is not JSON") from error
    if not isinstance(header, dict) or type(header.get("n")) is not int or not 0 <= header["n"] <= MAX_DATA:
        raise BadFrame("a header without a length")
    return header


def _event(header: dict[str, Any], data: bytes) -> Event:
    fields = {name: value for name, value in header.items() if name not in ("kind", "n")}
    kind = _KINDS.get(str(header.get("kind")))
    try:
        if kind is Chunk:
            return Chunk(data=data, **fields)
        if kind is not None and not data:
            return kind(**fields)
    except TypeError as error:
        raise BadFrame("a header with other fields") from error
    raise BadFrame("a frame of no known kind")
