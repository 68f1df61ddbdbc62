"""Holds never exceed the allocation, in any order of what may happen, and what was used is booked once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from projects.models import Project
from quotas import reads
from quotas import services as quotas
from quotas.models import Allocation
from tests.factories import make_allocation, make_member, make_project


def book(allocation: Allocation, *, job: str, gpu_minutes: int) -> None:
    """One GPU for so many minutes, until now."""
    now = timezone.now()
    facts = quotas.RunFacts(
        run=f"{job}-1", job=job, project_id=allocation.project_id, allocation_id=allocation.pk, user_id=None,
        login="davi", is_outside=False, partition="gpu", started_at=now - timedelta(minutes=gpu_minutes), ended_at=now,
        gpus=1, gpu_types={"a100": 1}, cpus=4,
    )  # fmt: skip
    quotas.book([facts], now=now)


@pytest.mark.django_db
def test_the_named_allocation_else_the_default() -> None:
    project = make_project()
    main = make_allocation(project)
    other = make_allocation(project, code="extra", qos=f"{project.code}-extra", is_default=False)
    assert quotas.choose(project) == main
    assert quotas.choose(project, "extra") == other
    with pytest.raises(quotas.NoAllocation):
        quotas.choose(project, "nowhere")


@pytest.mark.django_db
def test_one_query_says_how_all_allocations_of_a_person_stand(django_assert_num_queries: object) -> None:
    project = make_project()
    allocation = make_allocation(project, gpu_minutes=600)
    user = make_member(project)
    quotas.hold(allocation=allocation, reference="a", gpus=1, minutes=60)
    quotas.hold(allocation=allocation, reference="b", gpus=2, minutes=60)
    book(allocation, job="b", gpu_minutes=30)
    quotas.release(reference="b")
    with django_assert_num_queries(1):  # type: ignore[operator]
        [line] = reads.of_person(user)
    assert (line.used_hours, line.committed_hours, line.free_hours) == (0.5, 1.0, 8.5)
    assert (line.used_percent, line.committed_percent) == (5.0, 10.0)


class HoldsHold(TestCase):
    """A property over random histories of asking, ending and asking again."""

    @settings(max_examples=20)
    @given(st.lists(st.tuples(st.booleans(), st.integers(1, 8), st.integers(1, 200)), max_size=20))
    def test_used_and_committed_never_pass_the_limit(self, story: list[tuple[bool, int, int]]) -> None:
        allocation = make_allocation(make_project(), gpu_minutes=1000, gpus_at_once=8)
        held: dict[str, int] = {}
        for number, (asks, gpus, minutes) in enumerate(story):
            if asks:
                fits = gpus * minutes <= (quotas.balance(allocation).free or 0)
                try:
                    quotas.hold(
                        allocation=allocation, reference=f"{allocation.pk}-{number}", gpus=gpus, minutes=minutes
                    )
                    held[f"{allocation.pk}-{number}"] = gpus * minutes
                except quotas.OverAllocation:
                    assert not fits
                else:
                    assert fits
            elif held:
                reference, most = held.popitem()
                book(allocation, job=reference, gpu_minutes=most // 2)
                quotas.release(reference=reference)
                quotas.release(reference=reference)  # a second time: nothing
            allocation.refresh_from_db()
            balance = quotas.balance(allocation)
            assert balance.used + balance.committed <= 1000 and balance.committed == sum(held.values())


def test_a_period_that_has_begun_keeps_its_first_day(project: Project) -> None:
    today = timezone.now().date()
    allocation = make_allocation(project, starts_on=today)
    with pytest.raises(ValidationError) as refused:
        quotas.change_allocation(allocation=allocation, by=None, starts_on=today + timedelta(days=1))
    assert list(refused.value.message_dict) == ["starts_on"]
    coming = quotas.create_allocation(
        project=project, by=None, code="next", title="Next", starts_on=today + timedelta(days=9)
    )
    quotas.change_allocation(allocation=coming, by=None, starts_on=today + timedelta(days=10))
    coming.refresh_from_db()
    assert coming.qos == f"{project.code}-next-{today + timedelta(days=10):%Y%m%d}"


@pytest.mark.django_db
def test_long_codes_and_codes_that_join_alike_still_have_a_queue_each() -> None:
    today, names = timezone.now().date(), set()
    for code, own in (("visao", "main-xx"), ("visao-main", "xx"), ("p" * 31, "a" * 31)):
        made = quotas.create_allocation(
            project=make_project(code), by=None, code=own, title="Main", starts_on=today, gpu_minutes=60
        )
        names.add(made.qos)
    assert len(names) == 3 and max(map(len, names)) <= 60
