"""Find text in a log of any size on the reader's side: in slices, in constant memory, within a time budget."""

from __future__ import annotations

import dataclasses
import functools
import os

from logs.files import LogFile
from logs.lineindex import BLOCK, STEP, Budget

MAX_QUERY = 1024  # bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """(line, offset of the first hit in it) for each line that holds the text; `next`: where to go on."""

    matches: list[tuple[int, int]]
    next: int
    complete: bool  # the end of the file was reached


async def find(
    file: LogFile, query: bytes, *, after: int, ignore_case: bool, limit: int, size: int, budget: Budget
) -> Found:
    """Search from byte `after` on, at most `limit` lines. ASCII letters alone are folded by `ignore_case`."""
    begin = await file.lines.number_at(after, budget)
    if not begin.complete:
        return Found([], after, complete=False)
    scan = _Scan(file.descriptor, query.lower() if ignore_case else query, ignore_case, after, begin.line, limit)
    while scan.position < size and not budget.spent() and len(scan.matches) < limit:
        before = scan.position
        await file.run(functools.partial(scan.run, min(size, before - before % STEP + STEP)))
        file.lines.learn(scan.position, scan.line - 1)
        if scan.position == before:
            break  # the file became shorter
    return Found(scan.matches, scan.position, complete=scan.position >= size)


@dataclasses.dataclass(slots=True)
class _Scan:
    """A search under way. After a hit the rest of its line is passed over, like grep counts lines."""

    descriptor: int
    query: bytes
    ignore_case: bool
    position: int
    line: int
    limit: int
    matches: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    passing: bool = False

    def run(self, stop: int) -> None:
        """Search for hits that begin before `stop`."""
        while self.position < stop and not (self.full() and not self.passing):
            length = min(BLOCK, stop - self.position)
            block = os.pread(self.descriptor, length + len(self.query) - 1, self.position)
            if not block:
                return
            self._search(block, min(length, len(block)))

    def full(self) -> bool:
        """Whether as many lines as wanted are found."""
        return len(self.matches) >= self.limit

    def _search(self, block: bytes, length: int) -> None:
        folded = block.lower() if self.ignore_case else block
        at = 0
        while at < length and not (self.full() and not self.passing):
            at = self._pass_line(block, at, length) if self.passing else self._next_hit(block, folded, at, length)
        self.position += at

    def _pass_line(self, block: bytes, at: int, length: int) -> int:
        end = block.find(b"\n", at, length)
        if end < 0:
            return length
        self.passing, self.line = False, self.line + 1
        return end + 1

    def _next_hit(self, block: bytes, folded: bytes, at: int, length: int) -> int:
        hit = folded.find(self.query, at, length + len(self.query) - 1)
        if hit < 0:
            self.line += block.count(b"\n", at, length)
            return length
        self.line += block.count(b"\n", at, hit)
        self.matches.append((self.line, self.position + hit))
        self.passing = True
        return hit
