"""CPU, memory, pressure, storage and network of a job's nodes over a span of time, by steps as its GPUs are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from django.conf import settings

from cluster.metrics import names
from cluster.metrics.charts import POINTS, Band, Card, Chart, Rows, Where, place_values, steps_of
from cluster.metrics.host_names import BY_NAMES, OF_JOB, OF_NODE, Asked
from cluster.metrics.prometheus import Prometheus, need

WINDOWS = (10, 60, 240)  # seconds a rate is taken over: of agents asked every second, every 15, every minute
LOOKS = 10  # within a step, for its least and its most


def host_chart(where: Where, *, points: int = POINTS, source: Prometheus | None = None) -> Chart:
    """A line a node; a reading that nobody measured there is not in `bands`. Raises Away."""
    found = steps_of(where, [Card(node, "") for node in where.nodes], points)
    asked = BY_NAMES[settings.METRICS_NAMES]
    if where.nodes:
        with ThreadPoolExecutor(len(asked)) as several:
            bands = dict(
                pair for one in several.map(partial(_bands, found, where, source or need()), asked) for pair in one
            )
            found.bands = {name: bands[name] for name in (*OF_JOB, *OF_NODE) if name in bands}
    return found


def _bands(found: Chart, where: Where, source: Prometheus, asked: Asked) -> list[tuple[str, list[Band]]]:
    low, high = _low_and_high(found, where, source, asked)
    return [
        (name, _of(found, low[name], None if high is None else high[name]))
        for name in asked.readings.values()
        if low[name]
    ]


def _of(found: Chart, low: Rows, high: Rows | None) -> list[Band]:
    none: list[float | None] = [None] * found.steps
    return [Band(card, low.get(card, none), None if high is None else high.get(card, none)) for card in found.cards]


def _low_and_high(
    found: Chart, where: Where, source: Prometheus, asked: Asked
) -> tuple[dict[str, Rows], dict[str, Rows] | None]:
    """By reading. Where a short rate finds nothing, the agents are asked less often: a longer one."""
    low: dict[str, Rows] = {}
    for window in WINDOWS:
        series = expression(asked, where, window)
        looks = f"{math.ceil(found.step)}s:{max(1, math.ceil(found.step / LOOKS))}s"
        fine = found.step <= WINDOWS[0]
        low = _rows(found, source, series if fine else f"min_over_time(({series})[{looks}])", asked)
        if any(low.values()):
            return low, None if fine else _rows(found, source, f"max_over_time(({series})[{looks}])", asked)
        if "{window}" not in asked.expression:
            break
    return low, None


def expression(asked: Asked, where: Where, window: int) -> str:
    """The question, every value in it checked. Raises ValueError for what is no node and no number."""
    nodes = f'node=~"{names.nodes(where.nodes)}"'
    of = f'slurm_job="{names.number(where.job)}",{nodes}'
    return asked.expression.format(of=of, nodes=nodes, window=f"{window}s")


def _rows(found: Chart, source: Prometheus, question: str, asked: Asked) -> dict[str, Rows]:
    rows: dict[str, Rows] = {name: {} for name in asked.readings.values()}
    end = found.start + (found.steps - 1) * found.step
    for line in source.over(question, found.start, end, found.step):
        name = asked.readings.get(line.labels.get(asked.label, "") if asked.label else "")
        if name:
            card = Card(line.labels.get("node", ""), "")
            rows[name][card] = place_values(found, line, asked.factor, digits=3)
    return rows


def missing(found: Chart) -> Sequence[str]:
    """The readings that were measured nowhere."""
    return [name for name in (*OF_JOB, *OF_NODE) if name not in found.bands]
