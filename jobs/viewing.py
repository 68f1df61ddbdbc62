"""One viewer's place in a live stream: every byte once and in order, and a word about each one it missed."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from logs.client import BadTicket, Chunk, Generation, ReaderDown
from logs.generations import same

if TYPE_CHECKING:
    from jobs.hub import Hub

PIECE = 256 * 1024  # bytes fetched at a time for a viewer that begins before what the hub keeps
ROUNDS = 4  # fetches of what was written during the last fetch, before a viewer is put where the others are
PAUSE = 0.5  # seconds before a fetch that failed is tried again
T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class Skipped:
    """Bytes from `start` up to `stop` were not sent because the viewer (or the hub) could not keep up: fetch them."""

    start: int
    stop: int


Event = Chunk | Generation | Skipped


class Item(Generic[T]):
    """A chunk as kept, encoded when the first viewer takes it whole."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self._wire: T | None = None

    def wire(self, encode: Callable[[Event], T]) -> T:
        """The encoded chunk, the same object for every viewer."""
        if self._wire is None:
            self._wire = encode(self.chunk)
        return self._wire


class Viewer(Generic[T]):
    """One viewer's place in a stream: the next byte, and the next item of the hub."""

    def __init__(self, hub: Hub[T], offset: int, generation: str) -> None:
        self._hub, self._encode = hub, hub.hubs.encode
        self._position, self._generation = offset, generation
        self.next = self._arrived = hub.end

    async def events(self) -> AsyncGenerator[T, None]:
        """Everything, for as long as it is iterated."""
        while not self._hub.now.state:
            await self._hub.news.wait()
        while True:
            for event in self._arrive():
                yield self._encode(event)
            async for fetched in self._fetch():
                yield self._encode(fetched)
            async for taken in self._live():
                yield taken

    def _arrive(self) -> list[Event]:
        """Say where this viewer begins, and begin: at zero if the file is another than the one it has."""
        hub, events = self._hub, list[Event]()
        if hub.generation and self._generation and not same(self._generation, hub.generation):
            self._position = 0
            events.append(Generation(hub.generation, hub.now.size))
        self._generation, self._arrived = hub.generation or self._generation, hub.end
        if self._position < 0 and hub.generation:
            self._position = max(0, max(hub.position, hub.now.size) + self._position)
        return [*events, self._standing()]

    def _standing(self) -> Chunk:
        return dataclasses.replace(self._hub.now, offset=max(0, self._position))

    async def _fetch(self) -> AsyncGenerator[Chunk, None]:
        """By range what lies before what the hub keeps, and then what was written meanwhile, a few times over."""
        for _ in range(ROUNDS):
            self.next, stop = self._hub.end, self._hub.position
            self._hub.moved()
            if self._position < 0 or self._position >= self._hub.kept_from:  # below 0: there is no file yet
                self.next = self._hub.first
                return
            while self._position < stop:
                try:
                    chunk = await self._hub.read(self._position, min(PIECE, stop - self._position), self._generation)
                except (ReaderDown, BadTicket):
                    yield self._standing()
                    await asyncio.sleep(PAUSE)
                    continue
                if not chunk.data:
                    break  # another generation, or no file: the hub will hear of it too
                self._position += len(chunk.data)
                yield chunk

    async def _live(self) -> AsyncGenerator[T, None]:
        """Items as they come, until one is of another generation, or the first of any."""
        while True:
            while self.next >= self._hub.end:
                if self._is_of_another(self._hub.generation):  # it began anew while a range was fetched
                    return
                await self._hub.news.wait()
            if self.next < self._hub.first:  # too slow: go where the others are
                self.next = self._hub.end - 1
            number, item = self.next, self._hub.items[self.next - self._hub.first]
            if self._is_of_another(item.chunk.generation):
                return
            self.next += 1
            self._hub.moved()
            if item.chunk.data or number >= self._arrived:  # words of before this viewer came say nothing new
                for wire in self._pass(item):
                    yield wire

    def _is_of_another(self, generation: str) -> bool:
        """Whether a file of this name (none: not known) is not the one this viewer has."""
        return bool(generation) and not (self._generation and same(self._generation, generation))

    def _pass(self, item: Item[T]) -> list[T]:
        """What this viewer has not seen of an item, after a Skipped where something lies between."""
        chunk, wires = item.chunk, list[T]()
        self._generation = chunk.generation or self._generation
        if chunk.state != "open":
            return [item.wire(self._encode)]
        position = max(0, self._position)
        if chunk.offset > position:
            wires.append(self._encode(Skipped(position, chunk.offset)))
            position = chunk.offset
        end = chunk.offset + len(chunk.data)
        self._position = max(position, end)
        if position == chunk.offset:
            return [*wires, item.wire(self._encode)]
        if end > position or not chunk.data:
            rest = dataclasses.replace(chunk, data=chunk.data[position - chunk.offset :], offset=position)
            return [*wires, self._encode(rest)]
        return wires
