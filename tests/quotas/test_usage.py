"""Usage by day: split at midnight UTC, every run counted once, never negative, said again it stays the same."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.models import Project
from quotas import services as quotas
from quotas.models import Allocation, Usage
from quotas.services.usage import by_day
from tests.factories import make_allocation, make_project

NOON = datetime(2026, 5, 10, 12, tzinfo=UTC)


def facts(project: Project, allocation: Allocation | None = None, **changes: object) -> quotas.RunFacts:
    plain: dict[str, object] = {
        "run": "r1", "job": "j1", "project_id": project.pk, "allocation_id": allocation.pk if allocation else None,
        "user_id": None, "login": "davi", "is_outside": False, "partition": "gpu", "started_at": NOON,
        "ended_at": NOON + timedelta(hours=2), "gpus": 2, "gpu_types": {"a100": 2}, "cpus": 8,
    }  # fmt: skip
    return quotas.RunFacts(**(plain | changes))  # type: ignore[arg-type]


@given(st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)), st.integers(-5000, 400_000), st.integers(0, 999_999))
def test_the_days_add_up_to_the_whole(start: datetime, seconds: int, micros: int) -> None:
    begin = start.replace(tzinfo=UTC)
    end = begin + timedelta(seconds=seconds, microseconds=micros)
    days = list(by_day(begin, end))
    assert all(0 < part <= 86_400 for _day, part in days)
    assert abs(sum(part for _day, part in days) - max(0.0, (end - begin).total_seconds())) <= 1
    assert [day for day, _part in days] == sorted({day for day, _part in days})


@pytest.mark.django_db
def test_a_run_over_midnight_counts_on_both_days_and_the_typed_count_is_not_added_to_the_total() -> None:
    project = make_project()
    quotas.book([facts(project, started_at=NOON, ended_at=NOON + timedelta(hours=14))], now=NOON + timedelta(days=2))
    rows = list(Usage.objects.order_by("day").values_list("day", "gpu_type", "gpu_seconds", "cpu_seconds"))
    assert rows == [
        (date(2026, 5, 10), "a100", 2 * 12 * 3600, 8 * 12 * 3600),
        (date(2026, 5, 11), "a100", 2 * 2 * 3600, 8 * 2 * 3600),
    ]


@pytest.mark.django_db
def test_only_the_days_of_the_period_count_for_the_allocation() -> None:
    project = make_project()
    old = make_allocation(project, starts_on=date(2026, 1, 1), ends_on=date(2026, 5, 10))
    run = facts(project, old, ended_at=NOON + timedelta(hours=14))
    quotas.book([run], now=NOON + timedelta(days=1))
    quotas.book([run], now=NOON + timedelta(days=2))  # said again
    old.refresh_from_db()
    assert old.used_gpu_minutes == 2 * 12 * 60 and old.used_as_of == NOON + timedelta(days=2)


@pytest.mark.django_db
def test_a_run_under_way_counts_until_now_and_its_end_corrects_it() -> None:
    project = make_project()
    allocation = make_allocation(project, starts_on=date(2026, 1, 1), ends_on=None, gpu_minutes=60_000)
    quotas.hold(allocation=allocation, reference="j1", gpus=2, minutes=24 * 60)
    quotas.book([facts(project, allocation, ended_at=None)], now=NOON + timedelta(hours=13))
    allocation.refresh_from_db()
    assert quotas.balance(allocation).used == 2 * 13 * 60
    assert quotas.balance(allocation).committed == 2 * 11 * 60  # what it may still use: nothing is counted twice
    quotas.book([facts(project, allocation, ended_at=NOON + timedelta(hours=3))], now=NOON + timedelta(hours=14))
    quotas.release(reference="j1")
    allocation.refresh_from_db()
    assert quotas.balance(allocation).used == 2 * 3 * 60 and quotas.balance(allocation).committed == 0
    assert Usage.objects.filter(day=date(2026, 5, 11)).count() == 0


@pytest.mark.django_db
def test_two_runs_of_a_requeued_job_both_count_and_a_job_outside_is_marked() -> None:
    project = make_project()
    allocation = make_allocation(project, starts_on=date(2026, 1, 1), ends_on=None)
    first = facts(project, allocation, is_outside=True)
    second = facts(project, allocation, run="r2", started_at=NOON + timedelta(hours=5), ended_at=NOON + timedelta(hours=6),
                   is_outside=True)  # fmt: skip
    quotas.book([first, second], now=NOON + timedelta(hours=7))
    allocation.refresh_from_db()
    assert allocation.used_gpu_minutes == 2 * 60 * 3
    assert set(Usage.objects.values_list("is_outside", flat=True)) == {True}


@pytest.mark.django_db
def test_gpus_without_a_type_and_a_job_without_gpus_are_booked_too() -> None:
    project = make_project()
    quotas.book(
        [facts(project, gpus=3, gpu_types={"a100": 2}), facts(project, run="r2", gpus=0, gpu_types={})], now=NOON
    )
    rows = set(Usage.objects.values_list("run", "gpu_type", "gpu_seconds"))
    assert rows == {("r1", "a100", 14_400), ("r1", "", 7_200), ("r2", "", 0)}
