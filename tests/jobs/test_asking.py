"""Asking: one transaction, one job a key, limits named, nothing half-created."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone, translation

from audit import trail
from audit.actions import Action
from audit.models import AuditEvent
from jobs import services
from jobs.models import Intent, IntentKind, Job, Phase
from jobs.states import State
from projects.models import ProjectState
from quotas import services as quotas
from quotas.models import Hold
from quotas.services import OverAllocation, balance
from tests.conftest import Roles
from tests.jobs.conftest import Bench


def test_a_request_a_hold_and_an_event_in_one_go_as_the_web_role(bench: Bench, roles: Roles) -> None:
    roles.use("web")
    job = bench.submit()
    assert (job.phase, job.state, job.view.key) == (Phase.REQUESTED, State.HANDING, "handing")
    assert Hold.objects.get(reference=str(job.pk)).gpu_minutes == 120
    event = AuditEvent.objects.get(action=Action.JOB_SUBMITTED)
    assert (event.subject_id, event.actor_id, event.db_role) == (str(job.pk), bench.user.pk, "web")
    assert "true" not in str(event.detail)


def test_the_web_role_cannot_write_what_slurm_said(bench: Bench, roles: Roles) -> None:
    roles.use("web")
    job = bench.submit()
    for table, change in (
        ("jobs_job", "slurm_job_id = 7"),
        ("jobs_job", "phase = 'accepted'"),
        ("jobs_handover", "uid = 0"),
    ):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"UPDATE {table} SET {change}")
    services.cancel(job=job, by=bench.user)
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM jobs_job")


def test_a_request_once_made_is_fixed_even_for_the_worker(bench: Bench, roles: Roles) -> None:
    bench.submit()
    roles.use("slurm")
    with pytest.raises(DatabaseError), transaction.atomic():
        Job.objects.update(script="#!/bin/bash\nother\n")
    with pytest.raises(DatabaseError), transaction.atomic():
        Job.objects.update(phase=Phase.ENDED)  # not a step the table allows


def test_the_same_key_gives_the_same_job_and_another_body_is_refused(bench: Bench) -> None:
    job = bench.submit("k1")
    assert bench.submit("k1") == job
    with pytest.raises(services.KeyReused):
        bench.submit("k1", gpus=1)
    assert Job.objects.count() == Hold.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"gpus": 4, "nodes": 2}, "gpus_at_once"),
        ({"time_limit_minutes": 700}, "longest_minutes"),
        ({"time_limit_minutes": 599, "gpus": 4}, "gpu_minutes"),
    ],
)
def test_the_limit_that_stands_in_the_way_is_named_and_nothing_is_left(
    db: None, changes: dict[str, Any], limit: str
) -> None:
    bench = Bench(gpus_at_once=7, longest_minutes=600, gpu_minutes=2000)
    with pytest.raises(OverAllocation) as over:
        bench.submit(**changes)
    assert over.value.limit == limit
    assert not Job.objects.exists() and not Hold.objects.exists()


def test_the_number_of_jobs_is_a_limit_too(db: None) -> None:
    bench = Bench(jobs_submitted=1)
    bench.submit()
    with pytest.raises(OverAllocation) as over:
        bench.submit()
    assert over.value.limit == "jobs_submitted"


def test_an_archived_project_takes_no_work(bench: Bench) -> None:
    bench.project.state = ProjectState.ARCHIVED
    with pytest.raises(services.NotNow):
        bench.submit()


@pytest.mark.parametrize(
    ("field", "days", "words"), [("ends_on", -1, "period ended on"), ("starts_on", 1, "period begins on")]
)
def test_a_project_outside_its_dates_takes_no_work_and_says_why(
    bench: Bench, field: str, days: int, words: str
) -> None:
    day = timezone.now().date() + timedelta(days=days)
    setattr(bench.project, field, day)
    with pytest.raises(services.NotNow, match=f"{words} {day:%Y-%m-%d}.*administrator"), translation.override("en"):
        bench.submit()


def test_a_person_without_a_number_on_the_cluster_cannot_submit(bench: Bench) -> None:
    bench.user.uid_number = None
    with pytest.raises(services.NotNow):
        bench.submit()


def test_when_the_trail_fails_nothing_is_left(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(trail, "record", broken)
    with pytest.raises(RuntimeError):
        bench.submit()
    assert not Job.objects.exists() and not Hold.objects.exists()


def test_cancelling_twice_is_one_intent(bench: Bench, roles: Roles) -> None:
    roles.use("web")
    job = bench.submit()
    services.cancel(job=job, by=bench.user)
    services.cancel(job=job, by=bench.user)
    assert Intent.objects.get().kind == IntentKind.CANCEL
    roles.use("slurm")
    Job.objects.update(phase=Phase.CANCELLED)
    with pytest.raises(services.AlreadyOver):
        services.cancel(job=job, by=bench.user)


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_with_one_key_are_one_job_and_with_twenty_keys_never_over_the_limit() -> None:
    bench = Bench(gpu_minutes=600)  # five jobs of 120
    made: list[object] = []

    def ask(key: str) -> None:
        try:
            made.append(bench.submit(key).pk)
        except OverAllocation as over:
            made.append(over.limit)
        finally:
            connection.close()

    for keys in (["same"] * 10, [f"k{n}" for n in range(10)]):
        threads = [threading.Thread(target=ask, args=(key,)) for key in keys]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert len(set(made[:10])) == 1
    assert made.count("gpu_minutes") == 6
    assert Job.objects.count() == 5
    assert balance(bench.allocation).free == 0


def test_a_door_may_intend_nothing_but_a_cancellation(bench: Bench, roles: Roles) -> None:
    roles.use("web")
    job = bench.submit()
    for kind, number in ((IntentKind.DISCARD, 7), (IntentKind.ADOPT, None), (IntentKind.CANCEL, 7)):
        with pytest.raises(DatabaseError), transaction.atomic():
            Intent.objects.create(job=job, kind=kind, slurm_job_id=number)
    services.cancel(job=job, by=bench.user)
    assert Intent.objects.get().kind == IntentKind.CANCEL


@pytest.mark.django_db(transaction=True)
def test_a_job_that_spends_nothing_of_an_allocation_waits_for_nobody_who_does() -> None:
    bench = Bench(gpu_minutes=600)
    made: list[Job] = []

    def ask() -> None:
        made.append(bench.submit(gpus=0))
        connection.close()

    with transaction.atomic():
        quotas.hold(allocation=bench.allocation, reference="another's", gpus=1, minutes=1)
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(10)
    assert made
