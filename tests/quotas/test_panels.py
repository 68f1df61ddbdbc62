"""One query says of all allocations how they stand: by type, by person, at which pace, and one's own share."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from access.roles import Role
from accounts.models import User
from projects.models import Project
from quotas import panels
from quotas import services as quotas
from quotas.models import Allocation
from tests.factories import make_allocation, make_member

pytestmark = pytest.mark.django_db


def used(allocation: Allocation, user: User, hours: int, *, gpu_type: str = "a100", days_ago: int = 0) -> None:
    """One GPU for so many hours, as Slurm accounts for it."""
    end = timezone.now() - timedelta(days=days_ago)
    name = f"{user.username}-{gpu_type}-{hours}-{days_ago}"
    facts = quotas.RunFacts(
        run=name, job=name, project_id=allocation.project_id, allocation_id=allocation.pk, user_id=user.pk,
        login=user.username, is_outside=False, partition="gpu", started_at=end - timedelta(hours=hours), ended_at=end,
        gpus=1, gpu_types={gpu_type: 1}, cpus=4,
    )  # fmt: skip
    quotas.book([facts], now=timezone.now())


def test_who_used_what_and_how_long_it_lasts(project: Project, django_assert_num_queries: Any) -> None:
    allocation = make_allocation(project, gpu_minutes=600 * 60, gpu_minutes_by_type={"h100": 100 * 60})
    ana, davi = make_member(project, Role.PI, username="ana"), make_member(project, username="davi")
    used(allocation, ana, 30, gpu_type="h100", days_ago=2)
    used(allocation, davi, 254, days_ago=10)
    used(allocation, davi, 500, days_ago=60)  # before the allocation began
    quotas.hold(allocation=allocation, reference="a", gpus=2, minutes=60, gpu_type="h100", user=davi)
    with django_assert_num_queries(1):
        [line] = panels.of_project(project, ana)
    assert [(one.said, one.used // 60, one.committed // 60) for one in line.people] == [
        (davi.display_name, 254, 2), (ana.display_name, 30, 0),
    ]  # fmt: skip
    assert [(one.name, one.balance.used // 60, one.balance.free) for one in line.types] == [
        ("a100", 254, None), ("h100", 30, 68 * 60),
    ]  # fmt: skip
    assert (line.balance.used, line.balance.committed, line.level) == (284 * 60, 120, 47)
    per_day = 284 / 29
    assert line.pace.until == timezone.now().date() + timedelta(days=int(314 / per_day))
    assert sum(seconds for _day, seconds in line.days) == 284 * 3600
    assert line.may_ask and not line.mine.is_limited


def test_the_persons_own_share(project: Project) -> None:
    allocation, davi = make_allocation(project), make_member(project, username="davi")
    quotas.set_share(allocation=allocation, user=davi, by=None, gpu_minutes=600, gpus_at_once=2)
    used(allocation, davi, 4)
    quotas.hold(allocation=allocation, reference="a", gpus=1, minutes=60, user=davi)
    [line] = panels.of_person(davi)
    assert line.mine.limits == {"gpu_minutes": 600, "gpus_at_once": 2} and line.mine.jobs == 1
    assert (line.mine.balance.used, line.mine.balance.committed, line.mine.balance.free) == (240, 60, 300)
    assert not line.may_ask


def test_nothing_used_lasts_for_ever(project: Project) -> None:
    make_allocation(project, gpu_minutes=None)
    [line] = panels.of_project(project, make_member(project))
    assert line.pace.until is None and line.level == 0 and line.people == [] and line.types == []
