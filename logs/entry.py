"""One stream of one ticket as the reader holds it: opened when asked for, opened anew when doubted, watched, let go."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Coroutine, Iterator
from typing import Protocol

from logs.asking import OpenerDown
from logs.chunks import Chunk
from logs.files import LogFile
from logs.generations import Writing, same
from logs.poller import Poller, Watch
from logs.pool import Pool, Stalled
from logs.tickets import Ticket

ASK_AGAIN = (0.5, 2.0)  # seconds between two questions to the opener about one file, at first and in the end
SLOWING = 30.0  # a file missing for a minute is asked for every 2 s: asking costs the opener a process
QUIET = 15.0  # seconds without a change after which a watched file's path is asked for again (a rotated log)


class House(Protocol):
    """What an entry needs of the place it lives in."""

    pool: Pool
    poller: Poller

    async def ask(self, stream: str, text: str) -> tuple[str, int, int]:
        """Ask the opener: (answer, descriptor, inode)."""

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Run something beside the requests."""


class Entry:
    """One stream of one ticket: its open file, or the word why there is none."""

    def __init__(self, text: str, ticket: Ticket, stream: str, house: House) -> None:
        self.text, self.ticket, self.stream = text, ticket, stream
        self.file: LogFile | None = None
        self.state = "" if ticket.path(stream) else "joined"
        self.changed = asyncio.Event()  # set, and replaced by a new one, at every change
        self.users = self.watchers = 0
        self.used_at = self._changed_at = time.monotonic()
        self._writing = Writing(restart_count=ticket.restart_count, inode=0, rewrites=-1)  # of no file yet
        self._asked_at = float("-inf")
        self._doubted = self._broken = False  # broken: the descriptor is of no use any more (ESTALE, EIO)
        self._asking: asyncio.Task[None] | None = None
        self._watch: Watch | None = None
        self._house = house

    async def view(self, offset: int, limit: int, expect: str = "") -> Chunk:
        """Up to `limit` bytes at `offset` (negative: from the end).

        With `expect`, a generation's name, a file that is another writing by now gives no bytes, offset 0 and its own.
        """
        for _ in range(3):
            file = await self.current_file()
            if file is None:
                break
            try:
                sight, fits = await file.look(offset, limit)
            except (Stalled, OSError) as error:
                self._doubted, self._broken = True, self._broken or isinstance(error, OSError)
                return Chunk(b"", max(0, offset), 0, "", "failed", 0.0)
            self._doubted = self._doubted or not sight.links or not fits
            if fits and not self._due():
                name, age = file.writing.name(), max(0.0, time.time() - sight.mtime)
                if expect and not same(expect, name):
                    return Chunk(b"", 0, sight.size, name, "open", age)
                return Chunk(sight.data, sight.offset, sight.size, name, "open", age)
        return Chunk(b"", 0, 0, "", "busy" if self.file else self.state, 0.0)

    async def current_file(self) -> LogFile | None:
        """The open file, asked for if there is none or the one we have is in doubt, twice a second at most."""
        if self._due():
            await self._ask_once()
        return self.file

    @property
    def size(self) -> int:
        """The size as the poller saw it last; only while watched."""
        return self._watch.stamp[0] if self._watch and self._watch.stamp else 0

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """While this lasts, `changed` is set at every change of the file, found by one look for all who wait."""
        self.watchers += 1
        self._rewatch()
        try:
            yield
        finally:
            self.watchers -= 1
            self._rewatch()

    async def wait(self, changed: asyncio.Event, seconds: float) -> bool:
        """Wait for the event taken from `changed` before the last view; False if the time passed without it."""
        try:
            async with asyncio.timeout(seconds):
                await changed.wait()
        except TimeoutError:
            return False
        return True

    def tick(self, now: float) -> None:
        """While watched, every TICK: see after a file that is not there, is in doubt, or has been quiet for long."""
        if time.time() > self.ticket.not_after:
            self._become("bad-ticket", None)
        elif self._due() or (now - self._changed_at > QUIET and now - self._asked_at > QUIET):
            self._house.spawn(self._ask_once())

    def close(self) -> None:
        """Let go of the descriptor and of everybody who waits."""
        self._become(self.state, None)

    def notice(self) -> None:
        """Something about the file changed: wake all who wait."""
        self._changed_at = time.monotonic()
        self.changed.set()
        self.changed = asyncio.Event()

    def _due(self) -> bool:
        """Whether the opener should be asked: there is no file, or the one we have is in doubt, and it is time."""
        if (self.file and not self._doubted) or self.state == "joined":
            return False
        now, (soonest, latest) = time.monotonic(), ASK_AGAIN
        pause = soonest if self.file else min(latest, max(soonest, (now - self._changed_at) / SLOWING))
        return now - self._asked_at >= pause

    async def _ask_once(self) -> None:
        if self._asking is None:
            self._asking = self._house.spawn(self._ask())
            self._asking.add_done_callback(self._asked)
        await asyncio.shield(self._asking)

    def _asked(self, _: asyncio.Task[None]) -> None:
        self._asking = None

    async def _ask(self) -> None:
        self._asked_at = time.monotonic()
        try:
            answer, descriptor, inode = await self._house.ask(self.stream, self.text)
        except OpenerDown:
            answer, descriptor, inode = "unavailable", -1, 0
        self._asked_at = time.monotonic()
        if descriptor >= 0:
            self._opened(descriptor, inode)
        elif self.file is None or answer not in ("unavailable", "busy", "failed"):
            self._become("gone" if answer == "missing" and (self.file or self.state == "gone") else answer, None)

    def _opened(self, descriptor: int, inode: int) -> None:
        self._doubted, broken, self._broken = False, self._broken, False
        if (
            self.file and self._writing.inode == inode and not broken
        ):  # even one that stalls: another descriptor would stall beside it
            os.close(descriptor)
            return
        self._writing = self._writing.succeeded_by(inode)
        self._become("open", LogFile(descriptor, uid=self.ticket.uid, writing=self._writing, pool=self._house.pool))

    def _become(self, state: str, file: LogFile | None) -> None:
        news = state != self.state or file is not self.file
        if self.file and self.file is not file:
            self.file.close()
        self.state, self.file = state, file
        self._doubted = self._doubted and file is not None
        self._rewatch(anew=True)
        if news:
            self.notice()

    def _rewatch(self, *, anew: bool = False) -> None:
        """Have the poller look at the present file exactly while somebody waits."""
        wanted = self.watchers > 0 and self.file is not None
        if self._watch and (anew or not wanted):
            self._house.poller.end(self._watch)
            self._watch = None
        if self.file and wanted and not self._watch:
            self._watch = self._house.poller.watch(self.file.descriptor, self.notice)
