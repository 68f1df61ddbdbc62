"""Where lines begin in a file of any size, from line counts at every step that are made once and then remembered."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import os
import time
from array import array
from collections.abc import Awaitable, Callable
from typing import Any

from logs.generations import Writing

Run = Callable[[Callable[[], Any]], Awaitable[Any]]  # runs a call on the file in a thread
STEP = 4 * 1024 * 1024  # bytes between two remembered line counts, and of one call in a thread
BLOCK = 256 * 1024  # bytes looked at in one piece


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A line (1-based) and the byte its number was asked for or begins at; `complete` False: the budget ran out."""

    line: int
    offset: int
    complete: bool


class Budget:
    """Seconds one request may search."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def spent(self) -> bool:
        """Whether they are over."""
        return time.monotonic() >= self._until


class Lines:
    """Where lines begin in one file, from line counts at every STEP, which are counted once and then remembered."""

    def __init__(self, descriptor: int, writing: Writing, run: Run) -> None:
        self._descriptor, self._run = descriptor, run
        self._writing, self._rewrites = writing, writing.rewrites
        self._counts = array("Q", [0])  # newlines in the first k * STEP bytes

    async def number_at(self, offset: int, budget: Budget) -> Place:
        """The line the byte at `offset` stands in. Out of budget: the place counted up to."""
        self._forget_if_rewritten()
        await self._count_up_to(offset, budget)
        begun = min(offset // STEP, len(self._counts) - 1)
        if begun < offset // STEP:
            return Place(self._counts[begun] + 1, begun * STEP, complete=False)
        rest = await self._run(functools.partial(_count, self._descriptor, begun * STEP, offset))
        return Place(self._counts[begun] + rest + 1, offset, complete=True)

    async def offset_of(self, line: int, size: int, budget: Budget) -> Place:
        """Where `line` begins; past the end: the last one that begins (an empty one after a last newline counts)."""
        self._forget_if_rewritten()
        wanted = line - 1  # newlines before it
        while self._counts[-1] < wanted and len(self._counts) * STEP <= size:
            if budget.spent():
                return Place(self._counts[-1] + 1, (len(self._counts) - 1) * STEP, complete=False)
            await self._count_up_to(min(size, len(self._counts) * STEP), budget)
        passed, offset = await self._after_newline(wanted, size)
        if passed < wanted:
            passed, offset = await self._after_newline(passed, size)  # it may begin steps before the last
        return Place(passed + 1, offset, complete=True)

    def learn(self, offset: int, newlines: int) -> None:
        """Take in that so many stand before `offset`, if that is the next thing to know."""
        if offset == len(self._counts) * STEP:
            self._counts.append(newlines)

    def _forget_if_rewritten(self) -> None:
        if self._writing.rewrites != self._rewrites:
            self._rewrites, self._counts = self._writing.rewrites, array("Q", [0])

    async def _after_newline(self, wanted: int, size: int) -> tuple[int, int]:
        """The byte after the newline number `wanted`, or after the last one in its step: (its number, the byte)."""
        begun = max(0, bisect.bisect_left(self._counts, wanted) - 1)
        start, before = begun * STEP, self._counts[begun]
        call = functools.partial(_pass, self._descriptor, start, min(size, start + STEP), wanted - before)
        passed, offset = await self._run(call)
        return before + passed, offset

    async def _count_up_to(self, offset: int, budget: Budget) -> None:
        while len(self._counts) * STEP <= offset and not budget.spent():
            stop = len(self._counts) * STEP
            count = await self._run(functools.partial(_count, self._descriptor, stop - STEP, stop))
            self.learn(stop, self._counts[stop // STEP - 1] + count)


def _count(descriptor: int, start: int, stop: int) -> int:
    """Newlines in [start, stop)."""
    count = 0
    for at in range(start, stop, BLOCK):
        count += os.pread(descriptor, min(BLOCK, stop - at), at).count(b"\n")
    return count


def _pass(descriptor: int, start: int, stop: int, newlines: int) -> tuple[int, int]:
    """Pass up to `newlines` of them from `start` on: (how many, the byte after the last one passed)."""
    passed, after = 0, start
    for at in range(start, stop, BLOCK):
        block = os.pread(descriptor, min(BLOCK, stop - at), at)
        here = -1
        while passed < newlines and (here := block.find(b"\n", here + 1)) >= 0:
            passed, after = passed + 1, at + here + 1
        if passed == newlines:
            break
    return passed, after
