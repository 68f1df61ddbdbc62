"""A preview says just what a change would do, and leaves nothing behind."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse

from access.roles import Role
from audit.models import AuditEvent
from jobs.services import handing, previewing
from projects import services as projects
from projects.models import Project
from quotas import services as quotas
from quotas.models import Allocation
from quotas.services import applying, ticks
from slurm import fake
from slurm.steps import Kind
from tests.factories import make_member
from tests.jobs.conftest import Bench
from tests.pages import signed_in


@pytest.fixture(autouse=True)
def everybody_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticks, "on_system", lambda _login: True)


@pytest.fixture
def waiting(bench: Bench, cluster: fake.Cluster) -> Any:
    """Two GPUs for an hour, waiting."""
    applying.bring([bench.project])
    cluster.is_scheduling = False
    job = bench.submit()
    handing.hand_over()
    return job


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        ({"gpus_at_once": 1}, "gpus_at_once"),
        ({"gpus_by_type": {"a100": 1}}, "gpus_at_once"),
        ({"longest_minutes": 30}, "longest_minutes"),
        ({"gpu_minutes": 100}, "gpu_minutes"),
        ({"gpu_minutes_by_type": {"a100": 100}}, "gpu_minutes"),
        ({"gpu_minutes_by_type": {"h100": 100}}, None),
        ({"partitions": ["prep"]}, "partition"),
        ({"jobs_running": 0}, "jobs_running"),
        ({"gpus_at_once": 2}, None),
    ],
)
def test_a_lower_limit_names_the_jobs_it_blocks(bench: Bench, waiting: Any, change: Any, limit: str | None) -> None:
    events = AuditEvent.objects.count()
    found = previewing.preview(
        bench.project, lambda: quotas.change_allocation(allocation=bench.allocation, by=None, **change)
    )
    assert [(job.pk, name) for job, name in found.blocked] == ([(waiting.pk, limit)] if limit else [])
    assert {step.qos for step in found.steps if step.kind == Kind.CHANGE_QOS} <= {bench.allocation.qos}
    assert found.steps
    assert AuditEvent.objects.count() == events
    before = Allocation.objects.get(pk=bench.allocation.pk)
    assert all(getattr(before, name) == getattr(bench.allocation, name) for name in change)


def test_removing_somebody_stops_them_and_names_their_jobs(bench: Bench, waiting: Any) -> None:
    make_member(bench.project, Role.PI)
    membership = bench.user.memberships.get(ends_at=None)
    found = previewing.preview(bench.project, lambda: projects.remove_member(membership=membership, by=None))
    assert [name for _job, name in found.blocked] == ["member"]
    assert {(step.kind, step.user) for step in found.steps} >= {(Kind.STOP_USER, bench.user.username)}
    assert bench.user.memberships.filter(ends_at=None).exists()


@pytest.mark.parametrize(("minutes", "blocks"), [(100, True), (120, False)])
def test_a_share_of_hours_names_the_jobs_it_blocks(bench: Bench, waiting: Any, minutes: int, blocks: bool) -> None:
    found = previewing.preview(
        bench.project,
        lambda: quotas.set_share(allocation=bench.allocation, user=bench.user, by=None, gpu_minutes=minutes),
    )
    assert [name for _job, name in found.blocked] == (["gpu_minutes"] if blocks else [])


def test_archiving_closes_all(bench: Bench, waiting: Any) -> None:
    found = previewing.preview(bench.project, lambda: projects.archive_project(project=bench.project, by=None))
    assert [name for _job, name in found.blocked] == ["project"]
    assert Project.objects.get(pk=bench.project.pk).takes_work


def test_what_the_change_raises_comes_through(bench: Bench, waiting: Any) -> None:
    membership = make_member(bench.project, Role.PI).memberships.get()
    with pytest.raises(projects.LastPI):
        previewing.preview(bench.project, lambda: projects.remove_member(membership=membership, by=None))


@pytest.mark.parametrize(("page", "fields"), [("remove", {"on_end": "finish"}), ("change", {"role": Role.VIEWER})])
def test_who_takes_something_from_a_person_is_asked_first(
    bench: Bench, waiting: Any, page: str, fields: dict[str, str]
) -> None:
    client = signed_in(make_member(bench.project, Role.PI, language="en"))
    applying.bring([bench.project])
    where = reverse(f"projects:{page}_member", args=[bench.project.code, bench.user.username])
    asked = client.post(where, fields)
    assert asked.status_code == 200 and waiting.name in asked.content.decode()
    assert ("Waiting jobs that stay in the queue: 1." in asked.content.decode()) == (page == "remove")
    assert bench.user.memberships.filter(ends_at=None, role=Role.RESEARCHER).exists()
    again = client.post(where, fields | {"edit": "1"})
    assert again.status_code == 200 and b"projects/preview" not in again.content
    said = re.search(r'name="confirm" value="(\w+)"', asked.content.decode())
    assert said and client.post(where, fields | {"confirm": said[1]}).status_code == 302
    assert not bench.user.memberships.filter(ends_at=None, role=Role.RESEARCHER).exists()
