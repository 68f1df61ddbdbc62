"""The live hub: one pull from the log reader per watched stream and process, whatever the number of its viewers."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Hashable
from typing import Generic, NamedTuple, Protocol, TypeVar

from jobs.viewing import Event, Item, Skipped, Viewer
from logs.client import BadTicket, Chunk, Generation, ReaderDown

MEMORY = 1024 * 1024  # bytes of a stream kept for all its viewers; who falls behind them is told what it missed
TAIL = 64 * 1024  # bytes before the end where a pull begins
MAX_BEHIND = 3.0  # seconds a pull may be more than MEMORY behind the file before it jumps to the end: live is live
MAX_ITEMS = 2048  # chunks of it
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0  # seconds before the reader is tried again


Tickets = Callable[[], Awaitable[str]]  # the newest ticket of the job, asked for at every new beginning
Key = tuple[Hashable, str]  # job id or a part of it, stream
T = TypeVar("T")
__all__ = ["Event", "Hub", "Hubs", "Part", "Skipped", "Source", "Tickets"]
logger = logging.getLogger(__name__)


class Part(NamedTuple):
    """A task of an array, which writes a file of its own."""

    job: Hashable
    task: int


class Source(Protocol):
    """What a hub pulls from: logs.client.AsyncReader."""

    def follow(
        self, ticket: str, stream: str, offset: int, *, generation: str = ""
    ) -> AsyncGenerator[Chunk | Generation, None]:
        """Chunks from an offset on, for ever."""

    async def read(self, ticket: str, stream: str, offset: int, limit: int, *, generation: str = "") -> Chunk:
        """One range."""


class Hubs(Generic[T]):
    """The hubs of one process. `encode` makes of an event what viewers get; what many get is encoded once."""

    def __init__(self, source: Source, encode: Callable[[Event], T]) -> None:
        self.source, self.encode = source, encode
        self._hubs: dict[Key, Hub[T]] = {}

    @contextlib.asynccontextmanager
    async def watch(
        self, job: Hashable, stream: str, tickets: Tickets, *, offset: int = -TAIL, generation: str = ""
    ) -> AsyncIterator[AsyncIterator[T]]:
        """Join at a byte offset (negative: before the end); iterate what is given while the block lasts.

        First comes a Chunk without data: where it begins, state, size. Then every byte from there on in order, none
        twice, a gap only where a Skipped says so. A Generation says that the next byte is 0 of a file written anew;
        it also comes first where `generation` (of what the viewer has) is another than the file's.
        """
        hub = self._hubs.get((job, stream))
        if hub is None:
            hub = self._hubs[job, stream] = Hub(self, stream, tickets)
        viewer = Viewer(hub, offset, generation)
        hub.join(viewer)
        try:
            yield viewer.events()
        finally:
            if hub.leave(viewer) and self._hubs.get((job, stream)) is hub:
                del self._hubs[job, stream]

    def renew(self, job: Hashable) -> None:
        """The job has a new ticket (it started, it was requeued): have its streams, and its tasks', ask for it."""
        for (watched, _), hub in self._hubs.items():
            if job in (watched, watched.job if isinstance(watched, Part) else None):
                hub.restart()

    def __len__(self) -> int:
        return len(self._hubs)


class Hub(Generic[T]):
    """One pull and what it brought lately. All that is kept is of one generation and without a gap."""

    def __init__(self, hubs: Hubs[T], stream: str, tickets: Tickets) -> None:
        self.hubs, self.stream, self.tickets = hubs, stream, tickets
        self.now = Chunk(b"", 0, 0, "", "", 0.0)  # state, size and generation as last heard; state "": nothing yet
        self.generation = ""  # the last that was heard of, whatever became of the file since
        self.position = 0  # the byte after the last one heard of
        self._jump = True  # the next pull begins near the end and not there
        self.first = 0  # running number of the first kept item
        self.items: deque[Item[T]] = deque()
        self.news = asyncio.Event()  # set, and replaced, when an item came
        self._moved = asyncio.Event()  # set when a viewer took one or left
        self._viewers: set[Viewer[T]] = set()
        self._held = 0
        self._up_at = 0.0  # when the pull was last near the end of the file
        self._ticket = ""  # the one the present pull began with
        self._task: asyncio.Task[None] | None = None

    @property
    def end(self) -> int:
        """Running number of the item that comes next."""
        return self.first + len(self.items)

    @property
    def kept_from(self) -> int:
        """The first byte that is kept."""
        return self.position - self._held

    def join(self, viewer: Viewer[T]) -> None:
        """Pull from the first viewer on."""
        self._viewers.add(viewer)
        if self._task is None:
            self.restart()

    def leave(self, viewer: Viewer[T]) -> bool:
        """Stop with the last; True then."""
        self._viewers.discard(viewer)
        self._moved.set()
        if not self._viewers and self._task:
            self._task.cancel()
        return not self._viewers

    def restart(self) -> None:
        """Pull from where we are, with the newest ticket."""
        if self._task:
            self._task.cancel()
        self._task = asyncio.get_running_loop().create_task(self._pull())

    def moved(self) -> None:
        """A viewer took an item."""
        self._moved.set()

    async def read(self, offset: int, limit: int, generation: str) -> Chunk:
        """A range of that generation; no bytes where the file is another by now. Raises ReaderDown, BadTicket."""
        ticket = self._ticket or await self.tickets()
        try:
            return await self.hubs.source.read(ticket, self.stream, offset, limit, generation=generation)
        except BadTicket:
            self._ticket = ""
            raise

    async def _pull(self) -> None:
        pause = FIRST_PAUSE
        while True:
            heard = self.end
            try:
                await self._follow()
                continue
            except BadTicket:
                self._tell("refused")
            except ReaderDown:
                self._tell("unavailable")
            except Exception:  # of `tickets`: whatever it is, viewers wait for an answer
                logger.exception("a live stream could not be pulled")
                self._tell("unavailable")
            pause = FIRST_PAUSE if self.end > heard + 1 else min(LONGEST_PAUSE, pause * 2)
            await asyncio.sleep(pause)

    def _tell(self, state: str) -> None:
        """Tell the viewers, once, why nothing comes."""
        if self.now.state != state:
            self._keep(dataclasses.replace(self.now, data=b"", offset=self.position, state=state))

    async def _follow(self) -> None:
        """Until the file runs away from us, or the stream ends with an error."""
        self._ticket = ticket = await self.tickets()
        self._up_at = time.monotonic()
        begin = -TAIL if self._jump else self.position
        stream = self.hubs.source.follow(ticket, self.stream, begin, generation=self.generation)
        async with contextlib.aclosing(stream):
            async for event in stream:
                if isinstance(event, Generation):
                    self._begin_anew(event)
                elif self._runs_away(event):
                    self._jump = True
                    return
                else:
                    await self._take(event)

    def _begin_anew(self, event: Generation) -> None:
        self._forget()
        self.position, self._jump = 0, False
        self._keep(Chunk(b"", 0, event.size, event.generation, "open", 0.0))

    def _runs_away(self, chunk: Chunk) -> bool:
        now = time.monotonic()
        if chunk.size - chunk.offset - len(chunk.data) <= MEMORY:
            self._up_at = now
        return now - self._up_at > MAX_BEHIND

    async def _take(self, chunk: Chunk) -> None:
        if chunk.state == "open":
            if chunk.offset != self.position:  # the first of a pull that began at the end, or after a jump
                self._forget()
            self.position, self._jump = chunk.offset + len(chunk.data), False
        self._keep(chunk)
        await self._make_room()

    def _keep(self, chunk: Chunk) -> None:
        self.now = dataclasses.replace(chunk, data=b"")
        self.generation = chunk.generation or self.generation
        self.items.append(Item(chunk))
        self._held += len(chunk.data)
        self.news.set()
        self.news = asyncio.Event()

    def _forget(self) -> None:
        self.first, self._held = self.end, 0
        self.items.clear()

    async def _make_room(self) -> None:
        """Drop the oldest, but none that the fastest viewer has not taken: it sets the pace, the others skip."""
        while self._held > MEMORY or len(self.items) > MAX_ITEMS:
            if not any(viewer.next > self.first for viewer in self._viewers):
                self._moved.clear()
                await self._moved.wait()
                continue
            self.first += 1
            self._held -= len(self.items.popleft().chunk.data)
