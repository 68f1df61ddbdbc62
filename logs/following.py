"""Follow one stream to the end of time: every byte from an offset on, at once when quiet, gathered when busy."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from logs.chunks import Chunk, End, Event, Generation
from logs.entries import Entries
from logs.entry import Entry
from logs.generations import same

FLUSH = 0.050  # seconds between two chunks of a busy file, unless a full one is there
BURST = 4.0  # chunks that may go at once after quiet: at up to 20 lines a second none waits for another
FULL = 64 * 1024  # bytes that are sent without waiting for more
BULK = 256 * 1024  # bytes of one chunk while catching up
BEAT = 15.0  # seconds of silence after which an empty chunk says that all is well, and how old the last byte is

Send = Callable[[Event], Awaitable[None]]


async def follow(house: Entries, entry: Entry, offset: int, expect: str, send: Send) -> None:
    """Send chunks from `offset` on (negative: from the end; `expect`: the generation the asker has seen).

    The first event comes at once and says where it begins. Ends when the house closes or the ticket is refused.
    """
    follower = _Follower(entry, offset, expect, send)
    with entry.watching():
        while not house.closing and await follower.step():
            pass


class _Follower:
    def __init__(self, entry: Entry, offset: int, expect: str, send: Send) -> None:
        self._entry, self._send = entry, send
        self._position, self._known = offset, expect
        self._told = ""  # the state as last sent
        self._quiet = False  # nothing happened for a BEAT
        self._turns, self._counted_at = BURST, time.monotonic()

    async def step(self) -> bool:
        """Send what there is and wait until there is more; False at the end."""
        changed = self._entry.changed
        chunk = await self._entry.view(self._position, BULK, self._known)
        if chunk.state == "bad-ticket":
            await self._send(End("bad-ticket"))
            return False
        if chunk.state == "open" and self._known and not same(self._known, chunk.generation):
            self._position, self._known = 0, chunk.generation
            await self._send(Generation(chunk.generation, chunk.size))
            return True
        if chunk.data or chunk.state != self._told or self._quiet:
            await self._pass_on(chunk)
        if len(chunk.data) < BULK:
            self._quiet = not await self._entry.wait(changed, BEAT)
            await self._gather()
        return True

    async def _pass_on(self, chunk: Chunk) -> None:
        if chunk.state == "open":
            self._position = chunk.offset + len(chunk.data)
            self._known = chunk.generation
        self._told = chunk.state
        await self._send(chunk)
        self._turns -= 1

    async def _gather(self) -> None:
        """Let a busy file's lines come together: until it is our turn again, or until a full chunk is there."""
        while (left := self._turn_in()) > 0:
            if self._entry.size - max(0, self._position) >= FULL:
                return
            await self._entry.wait(self._entry.changed, left)

    def _turn_in(self) -> float:
        """Seconds until the next chunk may go: one each FLUSH, a few saved up while quiet, so that no line waits."""
        now = time.monotonic()
        self._turns = min(BURST, self._turns + (now - self._counted_at) / FLUSH)
        self._counted_at = now
        return (1 - self._turns) * FLUSH
