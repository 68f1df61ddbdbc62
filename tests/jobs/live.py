"""A log reader in memory, and viewers that check what a hub makes of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from jobs.hub import Event, Hubs, Skipped
from logs.client import BadTicket, Chunk, Generation, ReaderDown
from logs.generations import same


class Log:
    """A log reader with one file in memory, that can be written, begun anew, taken away and broken."""

    def __init__(self, text: bytes = b"", *, piece: int = 1000) -> None:
        self.text, self.state, self.run, self.piece = text, "open", 0, piece
        self.down = self.refuses = False
        self.follows = self.reads = self.open_follows = 0
        self.tickets: list[str] = []
        self.ticket = "first"
        self._news = asyncio.Event()

    @property
    def generation(self) -> str:
        """Grows with the file, as the reader's names do."""
        return f"{self.run}.{'a' * min(8, len(self.text) // 100)}" if self.state == "open" else ""

    def write(self, more: bytes) -> None:
        """Append."""
        self.text += more
        self.tell()

    def rewrite(self, text: bytes) -> None:
        """Requeue."""
        self.run, self.text, self.state = self.run + 1, text, "open"
        self.tell()

    def tell(self, **changes: object) -> None:
        """Change something and wake the followers."""
        for name, value in changes.items():
            setattr(self, name, value)
        self._news.set()
        self._news = asyncio.Event()

    async def newest(self) -> str:
        """The job's ticket."""
        return self.ticket

    async def read(self, ticket: str, stream: str, offset: int, limit: int, *, generation: str = "") -> Chunk:
        """As AsyncReader.read."""
        await asyncio.sleep(0)
        self._check(ticket)
        self.reads += 1
        if not same(generation, self.generation):
            return self._chunk(0, b"")
        return self._chunk(offset, self.text[offset : offset + limit] if self.state == "open" else b"")

    async def follow(
        self, ticket: str, stream: str, offset: int, *, generation: str = ""
    ) -> AsyncGenerator[Chunk | Generation, None]:
        """As AsyncReader.follow."""
        self.follows, self.open_follows = self.follows + 1, self.open_follows + 1
        try:
            async for event in self._events(ticket, offset, generation):
                yield event
        finally:
            self.open_follows -= 1

    async def _events(self, ticket: str, offset: int, known: str) -> AsyncIterator[Chunk | Generation]:
        told = ""
        while True:
            news = self._news
            self._check(ticket)
            if self.state == "open" and known and not same(known, self.generation):
                offset, known = 0, self.generation
                yield Generation(known, len(self.text))
            if self.state == "open":
                offset = offset if offset >= 0 else max(0, len(self.text) + offset)
                data, known = self.text[offset : offset + self.piece], self.generation
            else:
                data = b""
            if data or self.state != told:
                told = self.state
                yield self._chunk(offset, data)
                offset += len(data)
                await asyncio.sleep(0)
            else:
                await news.wait()

    def _check(self, ticket: str) -> None:
        self.tickets.append(ticket)
        if self.down:
            raise ReaderDown("down")
        if self.refuses or ticket != self.ticket:
            raise BadTicket("no")

    def _chunk(self, offset: int, data: bytes) -> Chunk:
        size = len(self.text) if self.state == "open" else 0
        return Chunk(data, offset if self.state == "open" else 0, size, self.generation, self.state, 0.0)


class Watcher:
    """A viewer that keeps what it got and checks that nothing came twice and nothing was missed unsaid."""

    def __init__(self, hubs: Hubs[Event], log: Log, offset: int = 0, *, generation: str = "", pause: float = 0) -> None:
        self.events: list[Event] = []
        self.data: dict[int, bytes] = {}  # first offset of each unbroken row of bytes since the last beginning
        self.skipped: list[Skipped] = []
        self.beginnings, self.states, self.pause = 0, list[str](), pause
        self._at: int | None = None
        self.task = asyncio.ensure_future(self._watch(hubs, log, offset, generation))

    async def _watch(self, hubs: Hubs[Event], log: Log, offset: int, generation: str) -> None:
        async with hubs.watch("job", "stdout", log.newest, offset=offset, generation=generation) as events:
            async for event in events:
                self._take(event)
                await asyncio.sleep(self.pause)

    def _take(self, event: Event) -> None:
        self.events.append(event)
        match event:
            case Generation():
                self.data, self._at, self.beginnings = {}, 0, self.beginnings + 1
            case Skipped():
                assert self._at is None or event.start == self._at
                self.skipped.append(event)
                self._at = event.stop
            case Chunk(state="open"):
                if self._at is not None:
                    assert event.offset == self._at, f"at {self._at} came {event.offset}"
                self._at = event.offset + len(event.data)
                self._keep(event.offset, event.data)
                self.states.append("open")
            case Chunk():
                self.states.append(event.state)

    def _keep(self, offset: int, data: bytes) -> None:
        for start, row in self.data.items():
            if start + len(row) == offset:
                self.data[start] = row + data
                return
        if data:
            self.data[offset] = data

    @property
    def whole(self) -> bytes:
        """The bytes, where they came in one row."""
        return next(iter(self.data.values()), b"")

    async def until(self, what: Callable[[Watcher], bool], seconds: float = 5) -> None:
        """Wait until `what(self)`, or raise what the viewer met."""
        until = time.monotonic() + seconds
        while not what(self):
            if self.task.done():
                self.task.result()
            assert time.monotonic() < until, (self.states, self.skipped, self.beginnings, list(self.data))
            await asyncio.sleep(0.002)

    async def close(self) -> None:
        """Leave."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def new(log: Log) -> Hubs[Event]:
    """Hubs that hand events on as they are."""
    return Hubs(log, lambda event: event)


async def settle(what: Callable[[], bool]) -> None:
    """Wait for something short."""
    for _ in range(1000):
        if what():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("did not settle")
