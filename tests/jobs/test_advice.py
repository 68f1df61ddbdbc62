"""What to ask for next time, by what was used."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from django.utils import translation

from jobs import advice
from jobs.states import State


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    with translation.override("en"):
        yield


USE = advice.Use(
    state=State.COMPLETED, seconds=3000, limit_seconds=3600, cpus=4, cpu_seconds=11000, memory_mb=16384,
    peak_memory_mb=12000, gpus=2,
)  # fmt: skip


def said(**changes: object) -> str:
    return " | ".join(map(str, advice.advise(dataclasses.replace(USE, **changes))))  # type: ignore[arg-type]


def test_a_job_that_used_what_it_asked_for_hears_nothing() -> None:
    assert said() == ""
    assert (USE.gpu_hours, USE.gpu_hours_asked) == (pytest.approx(1.667, abs=0.01), 2)


def test_little_memory_is_told_with_a_number() -> None:
    assert "12 % of its memory: 3 GB" in said(peak_memory_mb=2000)


def test_almost_all_memory_is_told() -> None:
    assert "almost all of its memory: ask for 20 GB" in said(peak_memory_mb=16000)


def test_out_of_memory_asks_for_half_as_much_again_even_of_a_short_run() -> None:
    assert "ask for 24 GB" in said(state=State.OUT_OF_MEMORY, seconds=3)


def test_time() -> None:
    assert "17 % of its time: with a limit of 15 minutes" in said(seconds=600, cpu_seconds=2400)
    assert "ran out of time" in said(state=State.TIMEOUT, seconds=3600, cpu_seconds=14000)
    assert "time" not in said(state=State.FAILED, seconds=600, cpu_seconds=2400)


def test_idle_cpus() -> None:
    assert "Of its 4 CPUs 0.9 were busy on average: ask for 1" in said(cpu_seconds=2700)


def test_nothing_is_told_of_a_short_run_or_of_what_was_not_measured() -> None:
    assert said(seconds=20, peak_memory_mb=1) == ""
    assert said(cpu_seconds=None, peak_memory_mb=None) == ""


@pytest.mark.parametrize(("minutes", "rounded"), [(1, 5), (12.5, 15), (61, 75), (250, 300)])
def test_minutes_are_rounded_to_what_people_write(minutes: float, rounded: int) -> None:
    assert advice.round_up(minutes) == rounded


def test_why_it_was_killed() -> None:
    full = dataclasses.replace(USE, peak_memory_mb=16000)
    assert "98 % of its memory: that is why" in str(advice.killed_for(9, None, full))
    assert "something else" in str(advice.killed_for(None, 137, USE))
    assert advice.killed_for(15, None, full) is None
    assert advice.killed_for(9, None, dataclasses.replace(USE, peak_memory_mb=None)) is None
