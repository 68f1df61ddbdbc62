"""Where the jobs of a chain stand in its drawing, and which of them can never start. Pure."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence

from jobs.states import State

WIDE, HIGH, GAP_X, GAP_Y = 176, 44, 56, 16
OVER = frozenset(
    {State.COMPLETED, State.FAILED, State.TIMEOUT, State.OUT_OF_MEMORY, State.NODE_FAILURE, State.PREEMPTED,
     State.CANCELLED, State.REFUSED, State.LOST}
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Edge:
    """`after` waits for `before`: kind "ok", "any" or "notok"."""

    before: str
    after: str
    kind: str


@dataclasses.dataclass(frozen=True, slots=True)
class Box:
    """One job in the drawing, its upper left corner."""

    key: str
    x: int
    y: int
    never: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One edge as an SVG path, with where its word stands."""

    path: str
    kind: str
    never: bool
    x: int
    y: int


@dataclasses.dataclass(frozen=True, slots=True)
class Drawing:
    """The whole of it."""

    boxes: list[Box]
    lines: list[Line]
    width: int
    height: int


def is_broken(kind: str, before: State) -> bool:
    """Whether this end of the job before rules the next one out."""
    if before not in OVER or kind == "any":
        return False
    return (before is State.COMPLETED) != (kind == "ok")


def never(edges: Sequence[Edge], states: Mapping[str, State]) -> set[str]:
    """The jobs that cannot start any more: a job before ended the wrong way, or itself never starts.

    What never starts ends as cancelled sooner or later: "any" and "notok" after it are still met.
    """
    found: set[str] = set()
    for _round in states:
        before = len(found)
        for edge in edges:
            state, waits = states.get(edge.before), states.get(edge.after)
            ruled_out = state is not None and (
                is_broken(edge.kind, state) or (edge.before in found and edge.kind == "ok")
            )
            if ruled_out and waits is not None and waits not in OVER:
                found.add(edge.after)
        if len(found) == before:
            break
    return found


def draw(edges: Sequence[Edge], states: Mapping[str, State]) -> Drawing:
    """Columns from left to right: each job stands right of all that it waits for."""
    column = _columns(edges, states)
    ruled_out, rows, boxes = never(edges, states), defaultdict[int, int](int), {}
    for key in states:
        place = column[key]
        boxes[key] = Box(key, place * (WIDE + GAP_X), rows[place] * (HIGH + GAP_Y), key in ruled_out)
        rows[place] += 1
    lines = [_line(boxes[edge.before], boxes[edge.after], edge, states) for edge in edges]
    width = (max(column.values(), default=0) + 1) * (WIDE + GAP_X) - GAP_X
    return Drawing(list(boxes.values()), lines, width, max(rows.values(), default=0) * (HIGH + GAP_Y) - GAP_Y)


def _columns(edges: Sequence[Edge], states: Mapping[str, State]) -> dict[str, int]:
    """A request names only jobs before it, so there is no circle; the rounds are bounded all the same."""
    column = dict.fromkeys(states, 0)
    for _round in states:
        for edge in edges:
            column[edge.after] = max(column[edge.after], column[edge.before] + 1)
    return {key: min(place, len(states)) for key, place in column.items()}


def _line(before: Box, after: Box, edge: Edge, states: Mapping[str, State]) -> Line:
    x1, y1, x2, y2 = before.x + WIDE, before.y + HIGH // 2, after.x, after.y + HIGH // 2
    middle = (x1 + x2) // 2
    broken = is_broken(edge.kind, states[edge.before]) or (before.never and edge.kind == "ok")
    return Line(f"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}", edge.kind, broken, middle, (y1 + y2) // 2 - 4)
