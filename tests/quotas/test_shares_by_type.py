"""A share of one GPU type: checked by the portal, told to Slurm where Slurm holds it, set and taken away like the rest."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone, translation

from access.roles import Role
from accounts.models import User
from cluster.models import Partition
from projects.models import Project
from quotas import services as quotas
from quotas.models import Allocation, Share
from quotas.services import limits
from quotas.services.limits import OverAllocation, Wish
from quotas.services.wanted import wanted
from slurm.books import Limits
from tests.factories import make_allocation, make_cluster, make_member, make_project
from tests.pages import signed_in
from tests.quotas.test_panels import used

pytestmark = pytest.mark.django_db


@pytest.fixture
def place() -> Project:
    """Its queue `mixed` has two types, `gpu` one, `prep` none."""
    make_cluster()
    some = Partition.objects.get(name="gpu")
    types = {"a100": {"per_node": 4, "total": 8}, "h100": {"per_node": 4, "total": 4}}
    Partition.objects.filter(pk=some.pk).update(gpu_types={"a100": types["a100"]})
    some.pk, some.name, some.gpu_types = None, "mixed", types
    some.save(force_insert=True)
    return make_project("aurora", partitions=["gpu", "mixed"])


@pytest.fixture
def allocation(place: Project) -> Allocation:
    return make_allocation(place, gpu_minutes=600 * 60, gpus_at_once=8)


def told(project: Project, user: User, queue: str) -> Limits:
    return wanted([project]).associations[project.code, user.username, queue].limits


def test_slurm_is_told_it_as_all_gpus_where_there_is_one_type(place: Project, allocation: Allocation) -> None:
    davi = make_member(place)
    typed = {"gpus_by_type": {"a100": 2, "h100": 1}, "gpu_minutes_by_type": {"a100": 600}}
    quotas.set_share(allocation=allocation, user=davi, by=None, gpus_at_once=3, **typed)
    one, two = told(place, davi, "gpu"), told(place, davi, "mixed")
    assert (one.gpus_at_once, one.gpu_minutes, dict(one.gpus_by_type)) == (2, 600, {})
    assert (two.gpus_at_once, two.gpu_minutes) == (3, None)
    assert (dict(two.gpus_by_type), dict(two.gpu_minutes_by_type)) == (typed["gpus_by_type"], {"a100": 600})


def test_hours_of_a_type_count_on_from_what_was_used_of_it_before(place: Project) -> None:
    today, davi = timezone.now().date(), make_member(place)
    old = make_allocation(place, starts_on=today - timedelta(days=60), ends_on=today - timedelta(days=31))
    new = make_allocation(place, code="new", qos="x-new", is_default=False, starts_on=today - timedelta(days=30))
    for kind in ("a100", "h100"):
        began = timezone.now() - timedelta(days=40)
        run = quotas.RunFacts(
            run=kind, job=kind, project_id=place.pk, allocation_id=old.pk, user_id=davi.pk, login=davi.username,
            is_outside=False, partition="mixed", started_at=began, ended_at=began + timedelta(hours=1), gpus=1,
            gpu_types={kind: 1}, cpus=1,
        )  # fmt: skip
        quotas.book([run], now=timezone.now())
    quotas.set_share(allocation=new, user=davi, by=None, gpu_minutes=900, gpu_minutes_by_type={"a100": 600})
    there = told(place, davi, "mixed")
    assert (there.gpu_minutes, dict(there.gpu_minutes_by_type)) == (900 + 120, {"a100": 660})


@pytest.mark.parametrize(
    ("share", "wish", "limit", "words"),
    [
        (
            {"gpus_by_type": {"a100": 1}},
            {"gpus": 2},
            "gpus_at_once",
            "your share is at most 1 of the type a100 at once",
        ),
        (
            {"gpu_minutes_by_type": {"a100": 240}},
            {"gpus": 1},
            "gpu_minutes",
            "A100: The job may use 2.0 GPU-hours; 1.0",
        ),
    ],
)
def test_the_portal_refuses_what_is_over_it(
    place: Project, allocation: Allocation, share: dict[str, Any], wish: dict[str, int], limit: str, words: str
) -> None:
    davi, pi = make_member(place), make_member(place, Role.PI)
    used(allocation, davi, 3, days_ago=1)
    quotas.set_share(allocation=allocation, user=davi, by=None, **share)
    allocation.refresh_from_db()
    with pytest.raises(OverAllocation) as refused, translation.override("en"):
        limits.check(allocation, Wish(minutes=120, gpu_type="a100", partition="mixed", user=davi, **wish))
    said = str(refused.value)
    assert refused.value.limit == limit and words in said and pi.name in said and "can raise your share" in said
    limits.check(allocation, Wish(minutes=120, gpu_type="h100", partition="mixed", user=davi, **wish))


def test_it_is_set_and_taken_away_and_never_above_the_allocation(place: Project, allocation: Allocation) -> None:
    quotas.change_allocation(allocation=allocation, by=None, gpus_by_type={"a100": 4})
    allocation.refresh_from_db()
    davi = make_member(place)
    for wrong in ({"gpus_by_type": {"a100": 5}}, {"gpus_by_type": {"a100": -1}}):
        with pytest.raises(ValidationError):
            quotas.divide(allocation=allocation, by=None, shares={davi: wrong})
    assert quotas.divide(allocation=allocation, by=None, shares={davi: {"gpus_by_type": {"a100": 4}}}) == 1
    assert quotas.divide(allocation=allocation, by=None, shares={davi: {"gpus_by_type": {"a100": 4}}}) == 0
    assert quotas.divide(allocation=allocation, by=None, shares={davi: {}}) == 1 and not Share.objects.exists()


def test_on_the_page_in_the_api_and_as_csv(place: Project, allocation: Allocation) -> None:
    davi, pi = make_member(place, username="davi"), signed_in(make_member(place, Role.PI))
    where, english = "/projects/aurora/allocations/main/shares", {"Accept-Language": "en"}
    text = pi.get(where, headers=english).content.decode()
    assert "A100: GPUs at once" in text and "H100: GPU-hours" in text and "checked by the portal alone" in text
    typed = {f"u{davi.pk}-gpus_by_type__a100": "2", f"u{davi.pk}-gpu_minutes_by_type__h100": "10"}
    look = pi.post(where, typed, headers=english).content.decode()
    confirm = look.split('name="confirm" value="')[1].split('"')[0]
    assert pi.post(where, typed | {"confirm": confirm}, headers=english).status_code == 302
    [row] = pi.get("/api/v1/projects/aurora/allocations/main/shares").json()
    assert (row["gpus_by_type"], row["gpu_minutes_by_type"]) == ({"a100": 2}, {"h100": 600})
    csv = b"".join(pi.get(where + ".csv", headers=english).streaming_content).decode()
    assert ",a100=2,h100=10.0" in csv
    page = pi.get("/projects/aurora/allocations/main", headers=english).content.decode()
    assert "A100: at most 2 at once" in page and "H100: 10 GPU·h" in page
    mine = signed_in(davi).get("/projects/aurora", headers=english).content.decode()
    assert "A100: GPUs at once <b>2</b>" in mine and "H100: GPU-hours <b>10</b>" in mine
    assert f'name="u{davi.pk}-gpus_by_type__a100" value="2"' in pi.get(where, headers=english).content.decode()
