"""What is free on each node from now on, and the first moment at which a demand fits. Pure: numbers in, a time out.

Times are seconds of the epoch. A node's room is a step function that later ends of jobs raise and placed jobs lower.
"""

from __future__ import annotations

import dataclasses
import heapq
from bisect import bisect_right
from collections.abc import Collection, Iterator

FOR_EVER = float("inf")
Amounts = tuple[int, int, int]  # CPUs, memory in MB, GPUs


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """On each of `nodes` nodes of these `places`: CPUs, memory (MB), GPUs of a type; for so many seconds."""

    places: frozenset[str]
    nodes: int
    each: Amounts
    seconds: float
    gpu_type: str = ""
    earliest: float = 0.0


class Room:
    """One node: `times[i]` to `times[i + 1]` there is `free[i]`."""

    def __init__(self, now: float, free: Amounts, whole: Amounts, gpu_types: Collection[str] = ()) -> None:
        self.times, self.free, self.whole, self.gpu_types = [now], [list(free)], whole, frozenset(gpu_types)

    def _cut(self, at: float) -> int:
        """The step that begins at this moment, made where there is none."""
        place = bisect_right(self.times, at) - 1
        if place < 0:
            return 0
        if self.times[place] != at:
            self.times.insert(place + 1, at)
            self.free.insert(place + 1, list(self.free[place]))
            place += 1
        return place

    def give_back(self, at: float, each: Amounts) -> None:
        """A job ends: never more than the node has."""
        for step in self.free[self._cut(max(at, self.times[0])) :]:
            step[:] = [min(most, one + more) for one, more, most in zip(step, each, self.whole, strict=True)]

    def take(self, start: float, end: float, each: Amounts) -> None:
        """A job is placed here."""
        first, last = self._cut(start), len(self.times) if end == FOR_EVER else self._cut(end)
        for step in self.free[first:last]:
            step[:] = [one - less for one, less in zip(step, each, strict=True)]

    def starts(self, demand: Demand) -> Iterator[tuple[float, float]]:
        """From when to when the demand could begin here."""
        if demand.each[2] and demand.gpu_type and demand.gpu_type not in self.gpu_types:
            return
        begun: float | None = None
        for at, free in zip([*self.times, FOR_EVER], [*self.free, None], strict=True):
            fits = free is not None and all(one >= wanted for one, wanted in zip(free, demand.each, strict=True))
            if fits and begun is None:
                begun = at
            elif not fits and begun is not None:
                first, last = max(begun, demand.earliest), FOR_EVER if at == FOR_EVER else at - demand.seconds
                if first <= last:
                    yield first, last
                begun = None


class Rooms:
    """All nodes by name."""

    def __init__(self, rooms: dict[str, Room]) -> None:
        self.rooms = rooms

    def first(self, demand: Demand) -> tuple[float, list[str]] | None:
        """(when it can start, on which nodes) at the earliest; None: never, as far as can be seen."""
        windows = [
            (start, end, name)
            for name in demand.places if name in self.rooms
            for start, end in self.rooms[name].starts(demand)
        ]  # fmt: skip
        open_ones: list[tuple[float, str]] = []
        for start, end, name in sorted(windows):
            heapq.heappush(open_ones, (end, name))
            while open_ones[0][0] < start:
                heapq.heappop(open_ones)
            if len(open_ones) >= demand.nodes:
                return start, [name for _end, name in heapq.nsmallest(demand.nodes, open_ones)]
        return None

    def place(self, demand: Demand) -> float | None:
        """Where it fits first; its room is taken."""
        found = self.first(demand)
        if found is None:
            return None
        start, names = found
        for name in names:
            self.rooms[name].take(start, start + demand.seconds, demand.each)
        return start
