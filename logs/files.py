"""One open log file: looks at it in threads, knows its generation, and closes its descriptor when nobody uses it."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import TypeVar

from logs.generations import ANCHOR, HEAD, Sight, Writing
from logs.lineindex import Lines
from logs.pool import Pool, Stalled

T = TypeVar("T")


class LogFile:
    """A descriptor handed over by the opener, with what is known of the file behind it."""

    def __init__(self, descriptor: int, *, uid: int, writing: Writing, pool: Pool) -> None:
        self.descriptor, self.uid, self.writing = descriptor, uid, writing
        self.lines = Lines(descriptor, self.writing, self.run)
        self.stalled = 0  # calls given up on that are still waiting in their threads
        self.closed = False
        self.calls = 0  # under way in threads now
        self._pool = pool

    async def look(self, offset: int, limit: int) -> tuple[Sight, bool]:
        """Read up to `limit` bytes at `offset` (negative: from the end) and see whether the file was rewritten.

        Gives (sight, fits); where `fits` is False the data belongs to no generation and must not be used.
        Raises Stalled, or OSError (ESTALE, EIO: the file system's own trouble).
        """
        before = self.writing.rewrites
        sight = await self.run(functools.partial(_look, self.descriptor, offset, limit, self.writing.anchor_at))
        fits = self.writing.accept(sight) and self.writing.rewrites == before
        return sight, fits

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call on this descriptor in a thread; the descriptor stays open until it is over."""
        if self.closed or self.stalled:
            raise Stalled
        ticking = _Call(self)
        try:
            return await self._pool.run(self.uid, call, ticking.end)
        except Stalled:
            ticking.give_up()
            raise

    def close(self) -> None:
        """Close as soon as the last call on the descriptor is over."""
        self.closed = True
        self.close_if_idle()

    def close_if_idle(self) -> None:
        """Let go of the descriptor if it is closed for us and no thread uses it."""
        if self.closed and not self.calls and self.descriptor >= 0:
            descriptor, self.descriptor = self.descriptor, -1
            self._pool.leave(functools.partial(os.close, descriptor))  # on FUSE even close() may hang


class _Call:
    """Keeps count of one call, from its start to its real end, given up on or not."""

    def __init__(self, file: LogFile) -> None:
        self._file, self._over, self._given_up = file, False, False
        file.calls += 1

    def end(self) -> None:
        self._over = True
        self._file.calls -= 1
        self._file.stalled -= self._given_up
        self._file.close_if_idle()

    def give_up(self) -> None:
        if not self._over:
            self._given_up = True
            self._file.stalled += 1


def _look(descriptor: int, offset: int, limit: int, anchor_at: int) -> Sight:
    """The calls of one look, in the order that lets a rewrite be seen: data first, what proves it after."""
    if offset < 0:
        offset = max(0, os.fstat(descriptor).st_size + offset)
    data = os.pread(descriptor, limit, offset) if limit else b""
    status = os.fstat(descriptor)
    head = os.pread(descriptor, HEAD, 0)
    anchor = os.pread(descriptor, ANCHOR, anchor_at)
    end = os.pread(descriptor, min(ANCHOR, status.st_size), max(0, status.st_size - ANCHOR))
    return Sight(
        at=time.monotonic(),
        offset=offset,
        data=data,
        size=status.st_size,
        mtime=status.st_mtime,
        links=status.st_nlink,
        head=head,
        anchor_at=anchor_at,
        anchor=anchor,
        end=end,
    )
