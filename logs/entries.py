"""The reader's open files: one entry per ticket and stream, bounded, let go when idle, kept in order by one timer."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import time
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from logs.asking import ask
from logs.entry import Entry
from logs.poller import Poller
from logs.pool import Pool
from logs.tickets import BadTicket, current, peek

MAX_FILES = 512
TICK = 0.25  # seconds between two rounds of the timer
IDLE = 30.0  # seconds an entry nobody uses keeps its descriptor


class Full(Exception):
    """Every entry is in use; try again."""


class Entries:
    """All entries, the threads they share, and the one timer that keeps house."""

    def __init__(self, opener: Path, *, deadline: float, max_files: int = MAX_FILES) -> None:
        self.pool = Pool(deadline=deadline)
        self.poller = Poller(asyncio.get_running_loop())
        self.closing = False
        self._opener, self._max_files = opener, max_files
        self._entries: dict[tuple[bytes, str], Entry] = {}
        self._askers = ThreadPoolExecutor(16, thread_name_prefix="ask")
        self._tasks: set[asyncio.Task[None]] = set()
        self.spawn(self._keep_house())

    @contextlib.asynccontextmanager
    async def use(self, text: str, stream: str) -> AsyncIterator[Entry]:
        """The entry of a ticket's stream, kept while the block runs. Raises BadTicket, Full."""
        entry = self._find(text, stream)
        entry.users += 1
        try:
            yield entry
        finally:
            entry.users -= 1
            entry.used_at = time.monotonic()

    def counts(self) -> dict[str, int]:
        """Numbers for /status, none of them about any one file."""
        entries = self._entries.values()
        return {
            "entries": len(entries),
            "open": sum(entry.file is not None for entry in entries),
            "stalled": sum(bool(entry.file and entry.file.stalled) for entry in entries),
            "waiting": sum(entry.watchers for entry in entries),
            "watched": self.poller.watching,
            "looks": self.poller.looks,
        }

    async def ask(self, stream: str, text: str) -> tuple[str, int, int]:
        """Ask the opener in a thread: (answer, descriptor, inode)."""
        return await asyncio.get_running_loop().run_in_executor(self._askers, self._ask, stream, text)

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Run something beside the requests and keep hold of it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def close(self) -> None:
        """Wake everybody who waits; they see `closing` and finish."""
        self.closing = True
        for entry in self._entries.values():
            entry.notice()

    def _ask(self, stream: str, text: str) -> tuple[str, int, int]:
        answer, descriptor = ask(self._opener, stream, text)
        return answer, descriptor, os.fstat(descriptor).st_ino if descriptor >= 0 else 0

    def _find(self, text: str, stream: str) -> Entry:
        key = (hashlib.sha256(text.encode("utf-8", "replace")).digest(), stream)
        entry = self._entries.get(key)
        if entry is None:
            entry = Entry(text, current(peek(text), time.time()), stream, self)
            self._make_room()
            self._entries[key] = entry
        current(entry.ticket, time.time())
        if entry.state == "bad-ticket":
            raise BadTicket("the opener did not accept it")
        return entry

    def _make_room(self) -> None:
        if len(self._entries) >= self._max_files:
            idle = [key for key, entry in self._entries.items() if not entry.users]
            if not idle:
                raise Full
            self._drop(min(idle, key=lambda key: self._entries[key].used_at))

    def _drop(self, key: tuple[bytes, str]) -> None:
        self._entries.pop(key).close()

    async def _keep_house(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            now = time.monotonic()
            self.poller.rescue()
            for key, entry in list(self._entries.items()):
                if entry.watchers:
                    entry.tick(now)
                elif not entry.users and now - entry.used_at > IDLE:
                    self._drop(key)
