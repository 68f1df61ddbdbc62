"""Clocks that jump: what a page says of GPUs is never below nothing, and never what nobody saw."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from unittest.mock import patch

import pytest
from django.utils import timezone

from cluster.metrics.charts import steps_of
from cluster.metrics.picture import Seen
from cluster.models import Gpu, OutsideUse
from cluster.services import outside
from cluster.services.gpus import see_gpus
from jobs.services.gpus import keeping, places, showing
from jobs.states import State
from tests.cluster.conftest import NOW, START, prometheus  # noqa: F401 - the real one
from tests.jobs.conftest import Bench
from tests.jobs.test_gpu_pages import at, browser, ended, gpu, known, run  # noqa: F401 - fixtures

HOUR, LOOK = timedelta(hours=1), timedelta(seconds=15)


class Clock:
    """The portal's, put where a test wants it; `look` sees an idle card of job 77 and a stranger on another."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.now = bench, timezone.now()

    def look(self, times: int = 1, step: timedelta = LOOK, **values: float) -> None:
        for _ in range(times):
            self.now += step
            idle = Seen("gpu01", 0, values={"utilization": 0.0, **values}, jobs=[77])
            taken = Seen("gpu01", 1, values={"utilization": 5.0}, strangers=[{"pid": 9, "uid": 7, "mib": 500}])
            with patch("django.utils.timezone.now", lambda: self.now):
                see_gpus(self.bench.cluster, [idle, taken])

    def idle(self) -> timedelta | None:
        return Gpu.objects.get(index=0).idle_for

    def page(self, path: str) -> str:
        with patch("cluster.models.gpus.timezone.now", lambda: self.now):
            return browser(self.bench.user).get(path).text

    def outside_hours(self) -> float:
        return sum(row.seconds for row in OutsideUse.objects.all()) / 3600


@pytest.fixture
def clock(bench: Bench) -> Iterator[Clock]:
    yield Clock(bench)


def test_idle_for_as_long_as_it_was_seen(clock: Clock) -> None:
    clock.look(89)
    assert clock.idle() == 88 * LOOK == timedelta(minutes=22)


@pytest.mark.parametrize("jump", [5 * HOUR, -5 * HOUR], ids=["on", "back"])
def test_hours_that_nobody_saw_are_no_idle_time_and_no_use(clock: Clock, jump: timedelta) -> None:
    """The clock is put on or back by hours, or nobody looked for so long: what is told begins anew."""
    clock.look(29)
    seen = clock.outside_hours()
    clock.look(1, jump)
    assert clock.idle() is None and clock.outside_hours() == pytest.approx(seen)
    clock.look(24)
    assert clock.idle() == timedelta(minutes=6)
    assert clock.outside_hours() == pytest.approx(seen + 0.1)
    assert all(row.seconds >= 0 for row in OutsideUse.objects.all())
    assert outside.totals(clock.now - 24 * HOUR, clock.now).hours <= seen + 0.1001


def test_a_card_that_nobody_reads_any_more_does_not_grow_more_idle(clock: Clock) -> None:
    """Prometheus is down: the last readings grow old, and are not shown as the present."""
    clock.look(40, utilization=0.0, power=60.0)
    job = run(clock.bench)
    assert "idle for 9 min 45 s" in clock.page(f"/jobs/{job.pk}")
    clock.now += HOUR
    with patch("django.utils.timezone.now", lambda: clock.now):
        (line,) = showing.shown(job).lines
    assert (line.now, line.power, line.idle_seconds) == (None, None, None)
    assert set(line.spark) == {None}


def test_a_clock_behind_the_readings_says_nothing_of_idleness(clock: Clock) -> None:
    row = gpu(clock.bench, 0, utilization=0.0, idle_since=timezone.now() + HOUR)
    assert row.idle_for is None
    assert "idle for" not in browser(clock.bench.user).get(f"/jobs/{run(clock.bench).pk}").text


def test_a_use_that_ends_before_it_began_lasted_no_time(clock: Clock) -> None:
    row = OutsideUse(cluster=clock.bench.cluster, began_at=clock.now, seen_at=clock.now - HOUR)
    assert row.seconds == 0


def test_a_job_that_starts_after_now_has_an_empty_chart(bench: Bench, known: str) -> None:  # noqa: F811
    """The portal's clock is behind slurmctld's."""
    job = run(bench, started_at=timezone.now() + 2 * HOUR)
    place = places.where(job)
    assert place is not None and place.end == place.start and steps_of(place, [], 1000).steps == 1
    client = browser(bench.user)
    for path in ("gpus", "usage"):
        told = client.get(f"/api/v1/jobs/{job.pk}/{path}").json()
        assert told["state"] == "none" and told["readings"] == []
    assert client.get(f"/jobs/{job.pk}?tab=gpus").status_code == 200


def test_a_run_that_ended_before_it_began_used_nothing(bench: Bench, known: str) -> None:  # noqa: F811
    """slurmctld's clock was put back while it ran."""
    job = ended(bench, started_at=at(NOW - 60), ended_at=at(NOW - 3600), state=State.COMPLETED)
    assert keeping.keep_summaries() == 1
    use = job.gpu_summary.use
    assert use.seconds == use.hours == 0 and not use.is_told
    page = browser(bench.user).get(f"/jobs/{job.pk}?tab=gpus")
    assert page.status_code == 200 and "Too little of this run was measured" in page.text


@pytest.mark.parametrize("query", [f"start={START + 10**7}", "start=0", "last=100000000", "last=1"])
def test_whatever_clock_a_browser_has(bench: Bench, known: str, query: str) -> None:  # noqa: F811
    """It is asked for with moments that are none of the run's."""
    job = ended(bench, started_at=at(START), ended_at=at(NOW))
    told = browser(bench.user).get(f"/api/v1/jobs/{job.pk}/gpus?{query}").json()
    assert told["state"] == "ok" and 1 <= told["steps"] <= 500
    assert START - told["step"] <= told["start"] <= NOW
