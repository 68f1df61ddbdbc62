"""Training curves out of lines: JSON objects, printed dictionaries, or a pattern of the project. Pure and bounded."""

from __future__ import annotations

import ast
import dataclasses
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST = 8192  # bytes of a line that is looked at
MOST_SERIES, MOST_POINTS = 24, 1000  # a curve with more is thinned out
NAME = re.compile(r"[A-Za-z_][\w./ -]{0,63}")
STEPS = ("step", "global_step", "iteration", "iter", "it", "batch", "epoch")  # the first that is there counts
TIMES = frozenset({"time", "timestamp", "ts", "_timestamp", "_runtime", "date"})
LESS = re.compile(r"loss|err|perplexity|ppl|mae|mse|rmse|wer|cer|fid|time|nll", re.IGNORECASE)
# nothing of it is given back once taken: what a line tries stays linear in its length
NUMBER = r"(?>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)"
_FIELD = re.compile(r"\{([A-Za-z_]\w{0,63})\}")


class BadPattern(ValueError):
    """The pattern has no field, or one twice."""


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """`x` is the step (or the place among the points), `at` the byte of the line that says so."""

    x: float
    y: float
    at: int


@dataclasses.dataclass
class Curve:
    """One quantity; points in the order of the lines."""

    name: str
    points: list[Point] = dataclasses.field(default_factory=list)
    seen: int = 0
    stride: int = 1
    last: Point | None = None
    best: Point | None = None

    @property
    def less_is_better(self) -> bool:
        """Judged by its name: losses, errors and times."""
        return LESS.search(self.name) is not None

    def add(self, point: Point) -> None:
        """Last and best are exact; of very many points every second, fourth ... is kept."""
        better = self.best is None or (point.y < self.best.y if self.less_is_better else point.y > self.best.y)
        self.best, self.last = point if better else self.best, point
        if self.seen % self.stride == 0:
            self.points.append(point)
        self.seen += 1
        if len(self.points) > 2 * MOST_POINTS:
            self.points, self.stride = self.points[::2], self.stride * 2

    def drawn(self) -> list[Point]:
        """With the last one, however many were left out."""
        kept = self.points if self.last is None or self.points[-1] is self.last else [*self.points, self.last]
        return kept


@dataclasses.dataclass
class Curves:
    """All quantities of one job, and what counts their steps: "step", "epoch" ..., or "" for the lines themselves."""

    curves: dict[str, Curve] = dataclasses.field(default_factory=dict)
    counted_by: str = ""

    def __bool__(self) -> bool:
        return bool(self.curves)

    def take(self, values: Mapping[str, Any], at: int) -> None:
        """One line's values; what is no finite number is left out."""
        numbers = {name: float(value) for name, value in _flat(values) if _is_number(value)}
        step = next((name for name in STEPS if name in numbers), "")
        self.counted_by = self.counted_by or step
        for name, value in numbers.items():
            if name == step or name in TIMES or name in STEPS[:-1]:
                continue
            curve = self.curves.get(name)
            if curve is None:
                if len(self.curves) >= MOST_SERIES or not NAME.fullmatch(name):
                    continue
                curve = self.curves[name] = Curve(name)
            curve.add(Point(numbers[step] if step else float(curve.seen), value, at))


def pattern(text: str) -> re.Pattern[str]:
    """ "epoch {epoch} loss {loss}" as an expression that takes numbers in the curly names' places, and cannot be slow.

    Raises BadPattern.
    """
    names = _FIELD.findall(text)
    if not names or len(set(names)) < len(names) or len(text) > 200 or len(names) > 10:
        raise BadPattern(text)
    parts = _FIELD.split(text)
    said = [
        f"(?P<{part}>{NUMBER})" if place % 2 else r"\s{1,32}+".join(map(re.escape, re.split(" +", part)))
        for place, part in enumerate(parts)
    ]
    return re.compile(("" if parts[0] else r"(?<![\d.])") + "".join(said))


def parse(data: bytes, form: re.Pattern[str] | None = None, *, into: Curves | None = None, start: int = 0) -> Curves:
    """The curves in these lines; `start` is the byte at which they begin. Any bytes may be given."""
    found = into if into is not None else Curves()
    for at, line in _lines(data):
        values = _values(line, form)
        if values:
            found.take(values, start + at)
    found.curves = {name: curve for name, curve in found.curves.items() if curve.points}
    return found


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    for line in data.split(b"\n"):
        if len(line) <= LONGEST:
            yield at, line.strip(b"\r\t ")
        at += len(line) + 1


def _values(line: bytes, form: re.Pattern[str] | None) -> Mapping[str, Any]:
    """Of an object the whole line must be one."""
    if line[:1] == b"{" and line[-1:] == b"}":
        return _object(line.decode("utf-8", "replace"))
    if form is not None:
        match = form.search(line.decode("utf-8", "replace"))
        return {name: float(said) for name, said in match.groupdict().items()} if match else {}
    return {}


def _object(text: str) -> Mapping[str, Any]:
    """JSON, or what Python prints of a dictionary."""
    try:
        found = json.loads(text) if '"' in text[:2] or "'" not in text else ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def _flat(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Two levels: {"train": {"loss": 1}} is train/loss."""
    for name, value in list(values.items())[:100]:
        if isinstance(value, Mapping):
            yield from ((f"{name}/{inner}", one) for inner, one in list(value.items())[:100])
        else:
            yield str(name), value


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
