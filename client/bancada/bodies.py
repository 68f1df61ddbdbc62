"""Records whose bodies retention removed: what a later record says of them must be just what was met."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator


class Bad(Exception):
    """The first thing that is wrong, in words that name the record."""


class Gone:
    """Records that one later record is said to have removed, as they are met."""

    def __init__(self, first: int) -> None:
        self.first, self.met, self.digest = first, list[list[int]](), hashlib.sha256()

    def add(self, seq: int, digest: bytes) -> None:
        """One more, in order."""
        if not self.met or self.met[-1][1] != seq - 1:
            self.met.append([seq, seq])
        self.met[-1][1] = seq
        self.digest.update(seq.to_bytes(8, "big") + digest)

    def compare(self, by: int, named: list[tuple[int, int]], digest: bytes, *, whole: bool) -> None:
        """With what was signed; `whole`: all that it names lies in this export. Raises Bad."""
        for first, last in self.met:
            covered = max((end for begin, end in named if begin <= first <= end), default=first - 1)
            if covered < last:
                raise Bad(f"record {covered + 1}: its event is gone, and record {by} does not name it")
        if whole and self.digest.digest() != digest:
            raise Bad(f"record {self.first}: removed by record {by}, which names it with others or with another digest")


def ranges(named: str) -> Iterator[tuple[int, int]]:
    """ "5-12,14" as (5, 12), (14, 14); ascending. Raises ValueError."""
    last = 0
    for part in named.split(","):
        begin, _dash, end = part.partition("-")
        first, before, last = int(begin), last, int(end or begin)
        if not before < first <= last:
            raise ValueError("records out of order")
        yield first, last
