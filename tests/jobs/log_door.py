"""A log reader for tests: files by stream, served as the real one serves them."""

from __future__ import annotations

from logs.chunks import Chunk
from logs.client import Found, Place


class Door:
    """`files` holds each stream's bytes; `trouble` is raised instead of an answer where it is set."""

    def __init__(self, **files: bytes) -> None:
        self.files = files
        self.trouble: Exception | None = None

    def read(self, ticket: str, stream: str, offset: int, limit: int, *, generation: str = "") -> Chunk:
        if self.trouble:
            raise self.trouble
        data = self.files.get(stream)
        if data is None:
            return Chunk(b"", 0, 0, "", "joined" if stream == "stderr" else "missing", 0.0)
        begin = max(0, len(data) + offset) if offset < 0 else offset
        return Chunk(data[begin : begin + limit], begin, len(data), "g1", "open", 1.5)

    def tail(self, ticket: str, stream: str, limit: int) -> Chunk:
        return self.read(ticket, stream, -limit, limit)

    def find(self, ticket: str, stream: str, query: bytes, *, limit: int = 100) -> Found:
        at = self.files[stream].find(query)
        matches = ((self.files[stream][:at].count(b"\n") + 1, at),) if at >= 0 else ()
        return Found(matches, len(self.files[stream]), complete=True, state="open", generation="g1")

    def line_at(self, ticket: str, stream: str, offset: int) -> Place:
        line = self.files[stream][:offset].count(b"\n") + 1
        return Place(line, offset, complete=True, state="open", generation="g1")
