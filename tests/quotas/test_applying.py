"""Changes reach Slurm's accounting, whatever dies in between; what another hand did there is shown, or put back."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.db import connection
from django.utils import timezone

from access.roles import Role
from audit.actions import Action
from audit.models import AuditEvent
from cluster import slurm_door
from projects import services as projects
from projects.models import Project
from quotas import services as quotas
from quotas.models import Enforcement
from quotas.services import applying, drift, reconciling
from quotas.services.alone import LOCK
from slurm import fake
from slurm.books import Association, Limits
from slurm.contract import Unreachable
from tests.factories import make_allocation, make_member, make_project, make_user


def state(project: Project) -> Enforcement:
    return Enforcement.objects.get(project=project)


def test_a_member_added_may_submit_and_a_removed_one_may_not(project: Project, slurm: fake.Cluster) -> None:
    allocation = make_allocation(project)
    user = make_member(project)
    assert applying.apply() == 1
    row = slurm.associations[project.code, user.username, "gpu"]
    assert (row.qos, row.is_stopped) == ({allocation.qos}, False)
    assert slurm.qos[allocation.qos].limits.gpus_at_once == 8
    projects.remove_member(membership=user.memberships.get(), by=None)
    assert applying.apply() == 1
    assert slurm.associations[project.code, user.username, "gpu"].is_stopped
    assert applying.apply() == 0
    kept = state(project)
    assert (kept.error, kept.differences, kept.change_applied) == ("", [], Project.objects.get(pk=project.pk).change)
    assert AuditEvent.objects.filter(action=Action.LIMITS_APPLIED, project_id=project.pk).count() == 2


def test_who_comes_back_may_submit_again(project: Project, slurm: fake.Cluster) -> None:
    make_allocation(project)
    user = make_member(project)
    applying.apply()
    projects.remove_member(membership=user.memberships.get(), by=None)
    applying.apply()
    projects.add_member(project=project, user=user, role=Role.RESEARCHER, by=None)
    applying.apply()
    assert not slurm.associations[project.code, user.username, "gpu"].is_stopped


def test_a_changed_limit_is_changed_in_slurm(project: Project, slurm: fake.Cluster) -> None:
    allocation = make_allocation(project)
    applying.apply()
    quotas.change_allocation(
        allocation=allocation, by=None, gpus_at_once=3, gpus_by_type={"a100": 2}, longest_minutes=None
    )
    applying.apply()
    limits = slurm.qos[allocation.qos].limits
    assert (limits.gpus_at_once, dict(limits.gpus_by_type), limits.longest_minutes) == (3, {"a100": 2}, None)


def test_a_silent_slurmdbd_changes_nothing_and_the_change_waits(project: Project, slurm: fake.Cluster) -> None:
    make_allocation(project)
    user = make_member(project)
    slurm.health.down.add("slurmdbd")
    assert applying.apply() == 0
    assert state(project).error and state(project).change_applied == 0
    slurm.health.down.clear()
    assert applying.apply() == 1
    assert state(project).error == ""
    assert (project.code, user.username, "gpu") in slurm.associations


def test_a_login_the_cluster_does_not_know_gets_nothing_and_loses_nothing(
    project: Project, slurm: fake.Cluster
) -> None:
    make_allocation(project)
    unknown = make_user("nobody1")
    projects.add_member(project=project, user=unknown, role=Role.RESEARCHER, by=None)
    applying.apply()
    assert (project.code, "nobody1", "gpu") not in slurm.associations
    assert state(project).ticks["login"]["missing"] == ["nobody1"]
    there = Association(project.code, "nobody1", "gpu", frozenset({"normal"}), "normal")
    slurm.associations[there.key] = there
    projects.touched(project)
    applying.apply()
    assert slurm.associations[there.key] == there


@pytest.mark.parametrize("killed_after", range(1, 6))
def test_a_worker_killed_between_any_two_steps_leaves_nothing_to_repair(
    project: Project, slurm: fake.Cluster, monkeypatch: pytest.MonkeyPatch, killed_after: int
) -> None:
    """Each change of the books is a place to die: half of them are made, then the process is gone."""
    make_allocation(project)
    users = [make_member(project) for _ in range(3)]

    class Killed(BaseException): ...

    door = slurm_door.accounts()

    def half(steps: object) -> None:
        type(door).carry_out(door, list(steps)[:killed_after])  # type: ignore[call-overload]
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(slurm_door, "accounts", lambda: Dying(door, half))
        applying.apply()
    assert not Enforcement.objects.filter(project=project, change_applied__gt=0).exists()
    assert applying.apply() == 1
    assert {user.username for user in users} <= {key[1] for key in slurm.associations}
    assert state(project).error == ""


@pytest.mark.parametrize("place", ["before", "after"])
def test_what_is_applied_is_told_once_whoever_dies_before_it_is_written_down(
    project: Project, slurm: fake.Cluster, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Killed before Slurm hears of it, or between its answer and our row: the event stands, and stands once."""
    allocation = make_allocation(project)
    door = slurm_door.accounts()

    def dying(steps: Any) -> None:
        if place == "after":
            door.carry_out(steps)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(slurm_door, "accounts", lambda: Dying(door, dying))
        applying.apply()
    assert (allocation.qos in slurm.qos) == (place == "after")
    assert applying.apply() == 1
    told = AuditEvent.objects.filter(action=Action.LIMITS_APPLIED, project_id=project.pk)
    assert [line["qos"] for line in told.get().said["steps"] if line["kind"] == "add_qos"] == [allocation.qos]
    projects.touched(project)
    assert applying.apply() == 1 and told.count() == 1  # nothing was to be done


def test_what_slurm_does_not_answer_for_is_told_as_failed_once(
    project: Project, slurm: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_allocation(project)
    with monkeypatch.context() as patched:
        patched.setattr(type(slurm.accounts()), "carry_out", mock.Mock(side_effect=Unreachable("slurmdbd is away")))
        assert (applying.apply(), applying.apply()) == (0, 0)
    assert applying.apply() == 1
    told = AuditEvent.objects.filter(project_id=project.pk, action__in=[Action.LIMITS_APPLIED, Action.LIMITS_FAILED])
    assert list(told.order_by("pk").values_list("action", "outcome")) == [
        ("limits.applied", "done"), ("limits.failed", "failed"),
    ]  # fmt: skip


@dataclasses.dataclass
class Dying:
    """The door, whose carrying out ends as told."""

    door: object
    carry_out: object

    def books(self, *args: object) -> object:
        return self.door.books(*args)  # type: ignore[attr-defined]


def test_drift_is_seen_once_named_and_restored_on_a_change(project: Project, slurm: fake.Cluster) -> None:
    allocation = make_allocation(project)
    user = make_member(project)
    applying.apply()
    key = (project.code, user.username, "gpu")
    slurm.associations[key] = dataclasses.replace(slurm.associations[key], limits=Limits(jobs_submitted=0))
    slurm.qos[allocation.qos] = dataclasses.replace(slurm.qos[allocation.qos], limits=Limits(gpus_at_once=99))
    assert reconciling.reconcile() == 1
    assert reconciling.reconcile() == 1
    lines = state(project).differences
    assert {
        "user": "",
        "partition": "",
        "qos": allocation.qos,
        "field": "gpus_at_once",
        "wanted": 8,
        "there": 99,
    } in lines
    event = AuditEvent.objects.get(action=Action.DRIFT_SEEN)
    assert user.username not in json.dumps(event.detail)  # people are referred to
    assert {line["user"] for line in event.said["differences"]} == {"", user.username}
    projects.touched(project)
    applying.apply()
    assert slurm.qos[allocation.qos].limits.gpus_at_once == 8 and not slurm.associations[key].is_stopped
    assert reconciling.reconcile() == 0 and state(project).differences == []


def test_restore_puts_back_and_takes_away_no_more_than_its_cap(
    project: Project, slurm: fake.Cluster, settings: Any
) -> None:
    make_allocation(project)
    applying.apply()
    settings.RECONCILE, settings.REMOVALS_PER_PASS = "restore", 2
    for number in range(5):
        row = Association(project.code, f"guest{number}", "gpu", frozenset({"normal"}), "normal")
        slurm.associations[row.key] = row
    stopped = []
    for _ in range(3):
        reconciling.reconcile()
        stopped.append(sum(row.is_stopped for row in slurm.associations.values()))
    assert stopped == [2, 4, 5]
    told = AuditEvent.objects.filter(action=Action.DRIFT_RESTORED).order_by("pk")
    assert len(told) == 3 and all(event.outcome == "done" and "guest" not in json.dumps(event.detail) for event in told)
    assert {line["user"] for event in told for line in event.said["steps"]} == {f"guest{n}" for n in range(5)}


@pytest.mark.parametrize("killed", [True, False])
def test_what_is_put_back_is_told_before_whoever_dies_between(
    project: Project, slurm: fake.Cluster, settings: Any, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    allocation = make_allocation(project)
    applying.apply()
    settings.RECONCILE = "restore"
    slurm.qos[allocation.qos] = dataclasses.replace(slurm.qos[allocation.qos], limits=Limits(gpus_at_once=99))
    error: Any = KeyboardInterrupt if killed else Unreachable("slurmdbd is away")
    with monkeypatch.context() as patch:
        patch.setattr(type(slurm.accounts()), "carry_out", mock.Mock(side_effect=error))
        with contextlib.suppress(KeyboardInterrupt):
            reconciling.reconcile()
    told = list(
        AuditEvent.objects.filter(action=Action.DRIFT_RESTORED).values_list("outcome", flat=True).order_by("pk")
    )
    assert told == ["done"] if killed else told == ["done", "failed"]
    assert slurm.qos[allocation.qos].limits.gpus_at_once == 99
    reconciling.reconcile()
    assert slurm.qos[allocation.qos].limits.gpus_at_once == 8


def test_observe_writes_nothing_and_says_what_it_would(project: Project, slurm: fake.Cluster, settings: Any) -> None:
    make_allocation(project)
    settings.RECONCILE = "observe"
    before = dict(slurm.qos)
    assert applying.apply() == 0 and reconciling.reconcile() == 1
    assert slurm.qos == before
    assert state(project).differences[0]["field"] == "missing"


def test_a_period_that_ends_closes_its_qos_by_itself(project: Project, slurm: fake.Cluster) -> None:
    today = timezone.now().date()
    allocation = make_allocation(project, starts_on=today - timedelta(days=9), ends_on=today)
    applying.apply()
    assert not slurm.qos[allocation.qos].is_closed
    type(allocation).objects.filter(pk=allocation.pk).update(ends_on=today - timedelta(days=1))  # the day is over
    reconciling.reconcile()
    assert slurm.qos[allocation.qos].is_closed


def test_a_mass_of_expiries_takes_no_more_than_the_cap_at_once(
    project: Project, slurm: fake.Cluster, settings: Any
) -> None:
    settings.REMOVALS_PER_PASS = 2
    make_allocation(project)
    people = [make_member(project) for _ in range(3)]
    applying.apply()
    project.memberships.update(ends_at=timezone.now())
    for expected in (2, 4, 6):  # two queues each
        reconciling.reconcile()
        assert sum(row.is_stopped for row in slurm.associations.values()) == expected
    assert len(people) == 3 and state(project).error == ""


def test_an_unreachable_slurmdbd_is_no_difference(project: Project, slurm: fake.Cluster) -> None:
    make_allocation(project)
    applying.apply()
    slurm.health.down.add("slurmdbd")
    assert reconciling.reconcile() == 0
    assert state(project).differences == []


@pytest.mark.django_db(transaction=True)
def test_only_one_process_applies_at_a_time(slurm: fake.Cluster) -> None:
    make_allocation(make_project())
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        assert applying.apply() == 0
        cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
    other.close()
    assert applying.apply() == 1


def test_the_worker_may_write_what_it_must_and_no_more(project: Project, slurm: fake.Cluster, roles: object) -> None:
    make_allocation(project)
    make_member(project)
    roles.use("slurm")  # type: ignore[attr-defined]
    assert applying.apply() == 1
    assert reconciling.reconcile() == 0


def test_silence_is_raised_and_not_taken_for_an_empty_answer(slurm: fake.Cluster) -> None:
    slurm.health.down.add("slurmdbd")
    with pytest.raises(Unreachable):
        slurm_door.accounts().books(None)


def test_what_a_hand_changed_in_a_qos_is_adopted_or_put_back(project: Project, slurm: fake.Cluster) -> None:
    allocation, operator = make_allocation(project), make_user(site_role="operator")
    applying.apply()
    slurm.qos[allocation.qos] = dataclasses.replace(
        slurm.qos[allocation.qos], limits=Limits(gpus_at_once=99, gpu_minutes=60_000, longest_minutes=2880)
    )
    reconciling.reconcile()
    assert drift.adopt(project=project, by=operator) == 1
    allocation.refresh_from_db()
    assert allocation.gpus_at_once == 99
    applying.apply()
    assert reconciling.reconcile() == 0 and slurm.qos[allocation.qos].limits.gpus_at_once == 99
    with pytest.raises(drift.NothingToDo):
        drift.restore(project=project, by=operator)
    slurm.qos[allocation.qos] = dataclasses.replace(slurm.qos[allocation.qos], limits=Limits())
    reconciling.reconcile()
    assert drift.restore(project=project, by=operator) == 3
    applying.apply()
    assert slurm.qos[allocation.qos].limits.gpus_at_once == 99
