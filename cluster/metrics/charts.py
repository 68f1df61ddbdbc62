"""The readings of some cards over a span of time: at most 2,000 points a series, each step with its least and most."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from django.conf import settings

from cluster.metrics import names
from cluster.metrics.prometheus import Line, Prometheus, need

POINTS = 2000  # of one series: a least and a most for each of half as many steps
MINUTES = 120.0  # seconds a step has, from which on the least and most of minutes will do


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Card:
    """One GPU of a node."""

    node: str
    gpu: str


Rows = dict[Card, list[float | None]]


@dataclasses.dataclass(frozen=True, slots=True)
class Where:
    """What is asked about: Slurm's number of a job, its nodes, and when it ran (unix seconds)."""

    job: int
    nodes: tuple[str, ...]
    start: float
    end: float


@dataclasses.dataclass(slots=True)
class Band:
    """One reading of one card: least and most of each step, None where nothing was read; alike where `high` is None."""

    card: Card
    low: list[float | None]
    high: list[float | None] | None


@dataclasses.dataclass(slots=True)
class Chart:
    """Readings by name, each with a band a card; the first step begins at `start`."""

    start: float
    step: float
    steps: int
    cards: list[Card]
    bands: dict[str, list[Band]]


def dialect() -> names.Dialect:
    """The names of this site's exporters."""
    return names.DIALECTS[settings.METRICS_NAMES]


def cards_of(where: Where, source: Prometheus | None = None) -> list[Card]:
    """The cards the job had on its nodes at any time of it. Raises Away."""
    if not where.nodes:
        return []
    words = dialect()
    span = max(15, math.ceil(where.end - where.start))
    allotted = names.allotted(words, where.job, where.nodes)
    rows = (source or need()).now(f"count by (gpu, node) (last_over_time({allotted}[{span}s]))", at=where.end)
    return sorted(card_of(row.labels) for row in rows if names.is_number(row.labels.get("gpu", "")))


def card_of(labels: dict[str, str]) -> Card:
    """The card a series is of."""
    return Card(labels.get("node", ""), labels.get("gpu", ""))


def chart(
    where: Where,
    cards: Sequence[Card],
    *,
    readings: Sequence[str] = names.CHARTED,
    points: int = POINTS,
    source: Prometheus | None = None,
) -> Chart:
    """These readings of these cards. Raises Away."""
    found = steps_of(where, cards, points)
    if cards:
        with ThreadPoolExecutor(len(readings)) as several:
            bands = several.map(partial(_bands, found, source or need()), readings)
            found.bands = dict(zip(readings, bands, strict=True))
    return found


def steps_of(where: Where, cards: Sequence[Card], points: int) -> Chart:
    """An empty chart of this span, its steps as long as so many points allow."""
    at_most = max(2, min(points, POINTS) // 2)
    step = max(1.0, math.ceil((where.end - where.start) / (at_most - 1)))
    start = math.floor(where.start / step) * step
    steps = max(1, math.floor((where.end - start) / step) + 1)
    return Chart(start, step, min(steps, at_most), list(cards), {})


def _bands(found: Chart, source: Prometheus, reading: str) -> list[Band]:
    low, high = _low_and_high(found, source, reading)
    none: list[float | None] = [None] * found.steps
    return [Band(card, low.get(card, none), high.get(card, none) if high is not None else None) for card in found.cards]


def _low_and_high(found: Chart, source: Prometheus, reading: str) -> tuple[Rows, Rows | None]:
    """The least and the most of each step; of long steps from what Prometheus records of each minute, if it does."""
    words = dialect()
    of = {card.node for card in found.cards}, {card.gpu for card in found.cards}
    asked = partial(names.over, words, reading, *of)
    rows = partial(_rows, found, source, factor=words.readings[reading].factor)
    if found.step <= words.finest:
        return rows(names.plain(words, reading, *of)), None
    step = math.ceil(found.step)
    if found.step >= MINUTES and words.minutes:
        least, most = (words.minutes.format(reading=reading, way=way) for way in ("min", "max"))
        if low := rows(asked("min", step, recorded=least)):
            return low, rows(asked("max", step, recorded=most))
    return rows(asked("min", step)), rows(asked("max", step))


def _rows(found: Chart, source: Prometheus, expression: str, factor: float) -> Rows:
    end = found.start + (found.steps - 1) * found.step
    rows: Rows = {}
    for line in source.over(expression, found.start, end, found.step):
        values, card = place_values(found, line, factor), card_of(line.labels)
        rows[card] = _joined(rows[card], values) if card in rows else values
    return rows


def _joined(one: list[float | None], other: list[float | None]) -> list[float | None]:
    """Of a card that was replaced: two series, one after the other. Prometheus takes as long again to join them."""
    return [first if second is None else second for first, second in zip(one, other, strict=True)]


def place_values(found: Chart, line: Line, factor: float, digits: int = 1) -> list[float | None]:
    """A series' values, each in its step; None where there was nothing."""
    start, step, steps = found.start, found.step, found.steps
    values: list[float | None] = [None] * steps
    for at, value in line.points:  # tens of thousands of a chart
        place = int((at - start) / step + 0.5)
        if 0 <= place < steps and 0 <= value < math.inf:
            values[place] = round(value * factor, digits)
    return values


def is_told(value: float) -> bool:
    """Whether it can be a reading: none of ours is below nothing."""
    return 0 <= value < math.inf
