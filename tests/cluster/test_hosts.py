"""What a job uses of its nodes beside the GPUs, through a real Prometheus: its own nodes, bounded, honestly absent."""

from __future__ import annotations

import pytest

from cluster.metrics.charts import POINTS, Card, Where
from cluster.metrics.host_names import BY_NAMES, OF_JOB, OF_NODE, UNITS
from cluster.metrics.hosts import expression, host_chart, missing
from cluster.metrics.prometheus import Away, Prometheus
from tests.cluster.conftest import NOW, START

WHERE = Where(77, ("gpu01",), START, NOW)


def test_half_a_series_is_a_hole(prometheus: Prometheus) -> None:
    """Asked for two hours, of which one was measured."""
    found = host_chart(Where(77, ("gpu01",), START - 3600, NOW), points=100, source=prometheus)
    for name in ("cpu", "job_memory", "received"):
        row = found.bands[name][0].low
        assert row[3] is None and row[-3] is not None, name


def test_what_nobody_measured_is_said(prometheus: Prometheus) -> None:
    found = host_chart(WHERE, points=100, source=prometheus)
    assert found.cards == [Card("gpu01", "")]
    assert missing(found) == [
        "pressure_memory", "pressure_io", "read", "written", "storage_read", "storage_written", "sent",
    ]  # fmt: skip
    assert host_chart(Where(78, ("gpu07",), START, NOW), source=prometheus).bands == {}
    assert host_chart(Where(78, (), START, NOW), source=prometheus).bands == {}


@pytest.mark.parametrize("points", [4, 50, 2000, 10**6])
def test_never_more_points_than_are_allowed(prometheus: Prometheus, points: int) -> None:
    found = host_chart(WHERE, points=points, source=prometheus)
    assert found.bands
    for (band,) in found.bands.values():
        assert len(band.low) == found.steps and len(band.low) + len(band.high or []) <= max(2, min(points, POINTS))


def test_who_is_away_is_away() -> None:
    with pytest.raises(Away):
        host_chart(WHERE, source=Prometheus("http://127.0.0.1:1", 0.3))


@pytest.mark.parametrize("node", ['gpu01"} or vector(1)', "", "a|b", "gpu01\n", "-x", "{of}"])
@pytest.mark.parametrize("names", list(BY_NAMES))
def test_no_name_leaves_its_place_in_a_question(node: str, names: str) -> None:
    for asked in BY_NAMES[names]:
        with pytest.raises(ValueError):
            expression(asked, Where(77, (node,), START, NOW), 10)


def test_every_reading_has_a_unit() -> None:
    known = {name for dialect in BY_NAMES.values() for asked in dialect for name in asked.readings.values()}
    assert known == set(UNITS) == {*OF_JOB, *OF_NODE}
