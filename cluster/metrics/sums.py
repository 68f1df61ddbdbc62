"""What each card did over a whole run, in one number a reading: what is kept when the series are gone."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from cluster.metrics import names
from cluster.metrics.charts import Card, Where, card_of, chart, dialect, is_told
from cluster.metrics.prometheus import Prometheus

BUSY = 2.0  # % of utilisation above which a card does something
COARSE = 15  # seconds between two looks that decide how long it was busy
SPARK = 60  # readings of the small picture


@dataclasses.dataclass(slots=True)
class Sum:
    """One card over a run: % and MiB and W and degrees; None where nothing was read. `measured`: share of the run."""

    card: Card
    mean: float | None = None
    most: float | None = None
    memory: float | None = None
    memory_total: float | None = None
    power: float | None = None
    temperature: float | None = None
    active_share: float | None = None
    longest_idle: float = 0.0  # seconds
    measured: float = 0.0
    spark: list[int | None] = dataclasses.field(default_factory=list)


# field -> (reading, how it becomes one number)
_QUESTIONS = {
    "mean": ("utilization", "avg"),
    "most": ("utilization", "max"),
    "memory": ("memory", "max"),
    "memory_total": ("memory_total", "max"),
    "power": ("power", "avg"),
    "temperature": ("temperature", "max"),
}


def sums(where: Where, cards: Sequence[Card], source: Prometheus) -> list[Sum]:
    """Of each card. Raises Away."""
    found = {card: Sum(card) for card in cards}
    if not cards:
        return []
    words, span = dialect(), max(1, math.ceil(where.end - where.start))
    for field, (reading, way) in _QUESTIONS.items():
        for row in source.now(_over(reading, cards, way, span), at=where.end):
            if (one := found.get(card_of(row.labels))) and is_told(row.value):
                setattr(one, field, round(row.value * words.readings[reading].factor, 1))
    _active(where, found, source)
    _picture(where, found, source)
    return list(found.values())


def _over(reading: str, cards: Sequence[Card], way: str, span: int) -> str:
    return names.over(dialect(), reading, {card.node for card in cards}, {card.gpu for card in cards}, way, span)


def _active(where: Where, found: dict[Card, Sum], source: Prometheus) -> None:
    words, span = dialect(), max(1, math.ceil(where.end - where.start))
    step = min(COARSE, max(1, span // 60))
    limit = BUSY / words.readings["utilization"].factor
    busy = f"{_over('utilization', list(found), 'max', step)} > bool {limit:g}"
    for row in source.now(f"avg_over_time(({busy})[{span}s:{step}s])", at=where.end):
        if one := found.get(card_of(row.labels)):
            one.active_share = round(row.value, 4)


def _picture(where: Where, found: dict[Card, Sum], source: Prometheus) -> None:
    """The small picture, the longest time without work, and how much of the run was read at all."""
    whole = chart(where, list(found), readings=("utilization",), points=1000, source=source)
    for band in whole.bands["utilization"]:
        high, one = band.high or band.low, found[band.card]
        one.measured = round(sum(value is not None for value in high) / len(high), 3)
        one.longest_idle = longest_idle(high) * whole.step
        one.spark = shrink(high, SPARK)


def longest_idle(values: Sequence[float | None]) -> int:
    """The most steps in a row without work; what was not read ends a row."""
    longest = row = 0
    for value in values:
        row = row + 1 if value is not None and value <= BUSY else 0
        longest = max(longest, row)
    return longest


def shrink(values: Sequence[float | None], most: int) -> list[int | None]:
    """At most so many: the highest of each part, None where a part has none."""
    size = max(1, math.ceil(len(values) / most))
    parts = [[v for v in values[first : first + size] if v is not None] for first in range(0, len(values), size)]
    return [round(max(part)) if part else None for part in parts]
