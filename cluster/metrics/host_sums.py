"""What a job used of each of its nodes over a whole run, in some numbers: what is kept when the series are gone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from django.conf import settings

from cluster.metrics.charts import Where, is_told
from cluster.metrics.host_names import BY_NAMES, VOLUMES, Asked
from cluster.metrics.hosts import expression
from cluster.metrics.prometheus import Prometheus

LOOKS = 240  # within a run, at how much it was at a time
FINEST = 15  # seconds between two of them at the least
WINDOWS = (60, 240)  # seconds a rate is taken over
Sums = dict[str, dict[str, float]]  # node -> reading -> its mean; "..._most": its highest; a volume: all of it, in MiB


def host_sums(where: Where, source: Prometheus) -> Sums:
    """Of each node; a reading that nobody measured there is not among them. Raises Away."""
    found: Sums = defaultdict(dict)
    if where.nodes:
        for asked in BY_NAMES[settings.METRICS_NAMES]:
            volumes = VOLUMES.issuperset(asked.readings.values())
            for node, name, value in _all_of_it(asked, where, source) if volumes else _how_much(asked, where, source):
                found[node][name] = value
    return dict(found)


def _all_of_it(asked: Asked, where: Where, source: Prometheus) -> Iterator[tuple[str, str, float]]:
    """How far counters went; one that began anew goes on from there."""
    question = expression(asked, where, _span(where)).replace("(rate(", "(increase(")
    for node, name, value in _rows(asked, question, where, source):
        yield node, name, round(value, 1)


def _how_much(asked: Asked, where: Where, source: Prometheus) -> Iterator[tuple[str, str, float]]:
    """Mean and highest of the run."""
    span = _span(where)
    looks = f"{span}s:{max(1, min(FINEST, span // 4), math.ceil(span / LOOKS))}s"
    for window in WINDOWS:
        series = expression(asked, where, window)
        means = list(_rows(asked, f"avg_over_time(({series})[{looks}])", where, source))
        if means:
            break
    for node, name, value in means:
        yield node, name, round(value, 3)
    for node, name, value in _rows(asked, f"max_over_time(({series})[{looks}])", where, source) if means else ():
        yield node, f"{name}_most", round(value, 3)


def _span(where: Where) -> int:
    return max(1, math.ceil(where.end - where.start))


def _rows(asked: Asked, question: str, where: Where, source: Prometheus) -> Iterator[tuple[str, str, float]]:
    for row in source.now(question, at=where.end):
        name = asked.readings.get(row.labels.get(asked.label, "") if asked.label else "")
        if name and is_told(row.value):
            yield row.labels.get("node", ""), name, row.value * asked.factor
