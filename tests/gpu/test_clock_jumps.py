"""A node whose clock jumps by hours, before a real Prometheus; and counters that begin anew."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from cluster.metrics.charts import Card, Where, cards_of, chart
from cluster.metrics.hosts import host_chart
from cluster.metrics.prometheus import Prometheus
from cluster.metrics.sums import sums
from gpu import card
from gpu.card import rate
from tests.gpu.scraping import scraped, until

HOUR = 3600
JUMPS = (0, 0, 0, 5 * HOUR, -2 * HOUR, 0, 0, 0)  # of the node's clock, scrape by scrape


class Node:
    """An exporter that says when it read, by a clock that jumps; job 77's CPU counter begins anew on the way."""

    def __init__(self) -> None:
        self.scrapes, self.begun = 0, time.time()

    def text(self) -> str:
        jump = JUMPS[min(self.scrapes, len(JUMPS) - 1)]
        self.scrapes += 1
        stamp = round(1000 * (time.time() + jump))
        labels = 'gpu="0",uuid="u"'
        used = time.time() - self.begun if self.scrapes < 4 else 0.001 * self.scrapes
        rows = {
            f"bancada_gpu_utilization_ratio{{{labels}}}": 0.5, f'bancada_gpu_allocated{{{labels},slurm_job="77"}}': 1,
            f"bancada_gpu_memory_used_bytes{{{labels}}}": 2**30, f"bancada_gpu_power_watts{{{labels}}}": 200,
            'bancada_job_cpu_seconds_total{slurm_job="77"}': used,
        }  # fmt: skip
        return "".join(f"{series} {value} {stamp}\n" for series, value in rows.items())


def told(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def test_charts_and_sums_of_nodes_whose_clocks_jump(tmp_path: Path) -> None:
    """Set up as in docs/metrics.md a node's clock counts nothing; where it does count, readings are missing, not wrong."""
    ours, other = Node(), Node()
    settings = {"gpu01": "honor_timestamps: false"}
    with scraped(tmp_path, {"gpu01": [ours.text], "gpu02": [other.text]}, settings) as source:
        begun = time.time()
        until(lambda: min(ours.scrapes, other.scrapes) > len(JUMPS) and len(source.now("up")) == 2)
        for node in ("gpu01", "gpu02"):
            _look(source, Where(77, (node,), begun, time.time()), whole=node == "gpu01")


def _look(source: Prometheus, place: Where, *, whole: bool) -> None:
    cards = cards_of(place, source)
    assert cards == [Card(place.nodes[0], "0")]
    for points in (2000, 12):
        found = chart(place, cards, points=points, source=source)
        assert found.start + (found.steps - 1) * found.step <= place.end + found.step
        assert {value for band in found.bands["utilization"] for value in told(band.low)} == {50}
        assert {value for band in found.bands["power"] for value in told(band.high or band.low)} == {200}
        cpu = [told(row) for band in host_chart(place, points=points, source=source).bands.get("cpu", ())
               for row in (band.low, band.high or [])]  # fmt: skip
        assert all(0 <= value < 2 for row in cpu for value in row)
    (one,) = sums(place, cards, source)
    assert one.mean == one.most == 50 and one.longest_idle == 0 and one.active_share == 1
    assert 0 <= one.measured <= 1 and one.memory == 1024
    if whole:
        assert one.measured > 0.5
    for hours in (1, 5, 6):
        later = Where(77, place.nodes, place.end + hours * HOUR - 600, place.end + hours * HOUR)
        assert told(chart(later, cards, source=source).bands["utilization"][0].low) == []


def test_the_agent_measures_time_by_a_clock_that_nobody_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates of traffic go by the machine's own seconds: the time of day may jump, a counter may begin anew."""
    seconds = iter([100.0, 101.0, 102.0, 102.0, 103.0])
    monkeypatch.setattr(card.time, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(card.time, "time", lambda: pytest.fail("asked for the time of day"))
    one = card.Card(0, None, "u", "m")
    found = [rate(one, "pcie_sent", value) for value in (1000.0, 1500.0, 200.0, 300.0, 450.0)]
    assert found == [None, 500.0, None, None, 150.0]
