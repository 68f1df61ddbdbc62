"""A follower of one stream that keeps what it got and checks that no byte is missing and none came twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from logs.client import AsyncReader, Chunk, Generation


class Follower:
    """What one follower has seen: the bytes since the last new generation, and all that was no data."""

    def __init__(self, reader: AsyncReader, ticket: str, offset: int = 0, *, generation: str = "") -> None:
        self.data, self.start, self.generations = bytearray(), None, 0
        self.states: list[str] = []
        self.chunks: list[Chunk] = []
        self._events = reader.follow(ticket, "stdout", offset, generation=generation)
        self.task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        async for event in self._events:
            if isinstance(event, Generation):
                self.generations += 1
                self.data, self.start = bytearray(), 0
                continue
            if event.state == "open":
                self.start = event.offset if self.start is None else self.start
                assert event.offset == self.start + len(self.data), "a gap or a byte twice"
            self.data += event.data
            self.chunks.append(event)
            self.states.append(event.state)

    async def until(self, what: Callable[[Follower], bool], seconds: float = 10.0) -> None:
        """Wait until `what(self)`; an assertion after the time, or the follower's own error."""
        until = time.monotonic() + seconds
        while not what(self):
            if self.task.done():
                self.task.result()
            assert time.monotonic() < until, f"only {bytes(self.data[-80:])!r} {self.states} {self.generations}"
            await asyncio.sleep(0.005)

    async def close(self) -> None:
        """Hang up."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
