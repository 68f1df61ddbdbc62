"""A refusal names the limit, its value, what is used, by whom and who can raise it; at the edge exactly what fits goes in."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone, translation
from django.utils.formats import date_format

from access.roles import Role
from accounts.models import User
from projects.models import Project
from quotas import services as quotas
from quotas.models import Allocation, Hold
from tests.factories import make_allocation, make_member, make_project


def ask(allocation: Allocation, name: str = "a", *, gpus: int = 1, minutes: int = 60, **more: Any) -> Hold:
    return quotas.hold(allocation=allocation, reference=name, gpus=gpus, minutes=minutes, **more)


def refusal(allocation: Allocation, **wish: Any) -> quotas.OverAllocation:
    with pytest.raises(quotas.OverAllocation) as caught:
        ask(Allocation.objects.get(pk=allocation.pk), "refused", **wish)
    return caught.value


def test_hours_name_what_is_used_committed_by_whom_and_when_they_are_free(project: Project) -> None:
    user = make_member(project, username="davi")
    allocation = make_allocation(project, gpu_minutes=600)
    ask(allocation, user=user, gpus=2, minutes=120)
    said = refusal(allocation, gpus=4, minutes=120)
    assert said.limit == "gpu_minutes"
    words = str(said)
    for part in ("8", "6", "10", "4", "davi"):  # asked, free, all, committed, by whom
        assert part in words
    assert allocation.ends_on is not None and str(allocation.ends_on.year) in words


def test_places_name_who_has_them(project: Project) -> None:
    user = make_member(project, username="ana")
    allocation = make_allocation(project, jobs_submitted=1)
    ask(allocation, user=user)
    said = refusal(allocation)
    assert said.limit == "jobs_submitted" and "ana" in str(said)
    assert (said.facts.value, said.facts.committed, said.facts.people) == (1, 1, [("ana", 1)])


def test_a_refusal_says_when_the_first_running_job_must_have_ended_and_who_can_raise_it(project: Project) -> None:
    """Of three jobs the middle one ends first; one waits and says nothing; one's end was due before now."""
    make_member(project, Role.PI, display_name="Ana Prado")
    user, now = make_member(project, username="davi"), timezone.now()
    allocation = make_allocation(project, gpu_minutes=600, jobs_submitted=4)
    for name in "abcd":
        ask(allocation, name, user=user, gpus=2, minutes=30)
    due = {"a": now + timedelta(hours=5), "b": now + timedelta(hours=2), "d": now - timedelta(hours=1)}
    with translation.override("en"), timezone.override("UTC"):
        place = refusal(allocation, ends=lambda names: {name: due[name] for name in names if name in due})
        allocation = quotas.change_allocation(allocation=allocation, by=None, jobs_submitted=None)
        hours = refusal(allocation, gpus=8, minutes=120, ends=lambda names: {"b": due["b"]})
        moment = date_format(timezone.localtime(due["b"]), "SHORT_DATETIME_FORMAT")
    assert place.facts.frees_at == hours.facts.frees_at == due["b"]
    assert f"by {moment} at the latest" in str(place) and f"ends by {moment} at the latest" in str(hours)
    assert "The PI (Ana Prado) can ask the cluster administrator for more." in str(hours)
    facts = hours.as_dict()
    assert facts["people"] == [{"login": "davi", "amount": 240}] and facts["raised_by"] == "site"
    assert (facts["value"], facts["asked"], facts["used"], facts["committed"]) == (600, 960, 0, 240)
    assert facts["period_ends"] == str(allocation.ends_on) and facts["frees_at"] == due["b"].isoformat()


def test_a_share_refuses_with_its_own_figures_and_the_persons_own_jobs_alone(project: Project) -> None:
    make_member(project, Role.PI, display_name="Ana Prado")
    make_member(project, Role.MANAGER, display_name="Bruno Reis")
    mine, other, due = make_member(project, username="davi"), make_member(project), timezone.now() + timedelta(hours=1)
    allocation = make_allocation(project, gpu_minutes=6000)
    quotas.set_share(allocation=allocation, user=mine, by=None, gpu_minutes=300, jobs_submitted=3)
    allocation.refresh_from_db()
    ask(allocation, "mine", user=mine, gpus=2, minutes=60)
    ask(allocation, "other", user=other, gpus=2, minutes=60)
    asked: list[str] = []

    def ends(names: Sequence[str]) -> dict[str, datetime]:
        asked.extend(names)
        return {"mine": due}

    with translation.override("en"):
        said = refusal(allocation, user=mine, gpus=4, minutes=60, ends=ends)
    assert "3.0 of your share's 5.0 are free: 0.0 used, 2.0 committed by your jobs under way." in str(said)
    assert "The PI or a manager of the project can raise your share: Ana Prado, Bruno Reis." in str(said)
    assert asked == ["mine"] and said.facts.frees_at == due and said.facts.raised_by == "project"
    with translation.override("en"):
        many = refusal(allocation, user=mine, gpus=0, tasks=3)
    assert "Your share of the allocation is 3 jobs queued and running, and you have 1." in str(many)


@pytest.mark.parametrize(
    ("fields", "wish", "limit"),
    [
        ({"gpus_at_once": 4}, {"gpus": 5}, "gpus_at_once"),
        ({"gpus_by_type": {"a100": 1}}, {"gpus": 2, "gpu_type": "a100"}, "gpus_at_once"),
        ({"longest_minutes": 30}, {"minutes": 31}, "longest_minutes"),
        ({"partitions": ["gpu"]}, {"partition": "prep"}, "partition"),
        ({"gpu_minutes_by_type": {"h100": 60}}, {"gpus": 2, "minutes": 31, "gpu_type": "h100"}, "gpu_minutes"),
        ({"jobs_submitted": 0}, {}, "jobs_submitted"),
    ],
)
def test_each_limit(project: Project, fields: dict[str, Any], wish: dict[str, Any], limit: str) -> None:
    assert refusal(make_allocation(project, **fields), **wish).limit == limit


def test_a_limit_of_one_type_leaves_the_others_alone(project: Project) -> None:
    allocation = make_allocation(project, gpus_by_type={"h100": 0}, gpu_minutes_by_type={"h100": 0})
    ask(allocation, gpus=4, gpu_type="a100")
    assert refusal(allocation, gpus=1, gpu_type="h100").limit == "gpus_at_once"


@pytest.mark.parametrize(
    ("share", "wish", "limit"),
    [
        ({"gpus_at_once": 1}, {"gpus": 2}, "gpus_at_once"),
        ({"longest_minutes": 10}, {"minutes": 11}, "longest_minutes"),
        ({"jobs_submitted": 1}, {}, "jobs_submitted"),
        ({"gpu_minutes": 90}, {"gpus": 1, "minutes": 60}, "gpu_minutes"),
    ],
)
def test_a_share_binds_its_person_and_nobody_else(
    project: Project, share: dict[str, int], wish: dict[str, Any], limit: str
) -> None:
    allocation = make_allocation(project)
    mine, other = make_member(project), make_member(project)
    quotas.set_share(allocation=allocation, user=mine, by=None, **share)
    ask(Allocation.objects.get(pk=allocation.pk), "first", minutes=10 if "longest_minutes" in share else 60, user=mine)
    said = refusal(allocation, user=mine, **wish)
    assert said.limit == limit
    ask(Allocation.objects.get(pk=allocation.pk), "other", user=other, **wish)


def test_a_share_taken_away_binds_no_more_and_only_members_have_one(project: Project) -> None:
    allocation, user = make_allocation(project), make_member(project)
    quotas.set_share(allocation=allocation, user=user, by=None, gpus_at_once=1)
    quotas.set_share(allocation=allocation, user=user, by=None)
    allocation.refresh_from_db()
    assert not allocation.is_shared and not allocation.shares.exists()
    with pytest.raises(quotas.NotMember):
        quotas.set_share(allocation=allocation, user=make_member(make_project()), by=None, gpus_at_once=1)


def test_lowering_below_use_refuses_new_work_and_never_goes_negative(project: Project) -> None:
    allocation = make_allocation(project, gpu_minutes=600)
    ask(allocation, gpus=5, minutes=120)
    allocation = quotas.change_allocation(allocation=allocation, by=None, gpu_minutes=60)
    assert quotas.balance(allocation).free == 0
    assert refusal(allocation, gpus=1, minutes=1).limit == "gpu_minutes"


@pytest.mark.django_db(transaction=True)
def test_a_hundred_at_once_get_exactly_what_fits() -> None:
    """Ten hours are free and each of a hundred requests takes one: ten go in, ninety are refused, nothing is over."""
    project = make_project()
    allocation = make_allocation(project, gpu_minutes=600, jobs_submitted=None)
    gate = threading.Barrier(20)
    results: list[bool] = []

    def one(number: int) -> None:
        if number < 20:
            gate.wait(timeout=30)
        try:
            ask(allocation, f"race-{number}", gpus=1, minutes=60)
            results.append(True)
        except quotas.OverAllocation:
            results.append(False)
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(one, range(100)))
    assert (results.count(True), results.count(False)) == (10, 90)
    balance = quotas.balance(Allocation.objects.get(pk=allocation.pk))
    assert (balance.committed, balance.free) == (600, 0)


def test_a_lost_job_gives_its_hold_back_and_takes_it_again_when_it_returns(project: Project) -> None:
    allocation = make_allocation(project, gpu_minutes=600)
    ask(allocation, gpus=5, minutes=120)
    quotas.release(reference="a")
    assert quotas.balance(allocation).free == 600
    quotas.take_again(reference="a")
    assert quotas.balance(allocation).free == 0


def test_a_new_period_has_its_own_qos_and_the_first_allocation_is_the_default(project: Project) -> None:
    today = timezone.now().date()
    first = make_allocation(project, is_default=False, qos="")
    assert first.qos == f"{project.code}-main-{today - timedelta(days=30):%Y%m%d}"
    by: User | None = None
    second = quotas.create_allocation(
        project=project, by=by, code="next", title="Next", qos="", starts_on=today + timedelta(days=301)
    )
    assert first.qos != second.qos and second.is_default  # nobody else was
