"""What people of a shared cluster can do around the portal must not blind it, nor make it throw a job of its own away."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import Client
from django.utils import timezone

from accounts.models import User
from audit import context, trail
from audit.actions import Action
from audit.models import AuditEvent
from jobs.models import Handover, HandoverOutcome, Intent, IntentKind, Job, Phase
from jobs.services import discovery, following, handing, intents, people, recording, tickets
from quotas.models import Hold
from slurm import fake
from slurm.contract import JobRecord, Refused, SlurmError, Unreachable
from tests.factories import make_member, make_user
from tests.jobs.conftest import Bench


@pytest.fixture(autouse=True)
def _as_the_worker(cluster: fake.Cluster, bench: Bench) -> None:
    """The cluster is there."""


def look(cluster: fake.Cluster, bench: Bench) -> None:
    bench.cluster.refresh_from_db()
    following.look_at_jobs(cluster.gateway(), bench.cluster)


def by_ssh(bench: Bench, cluster: fake.Cluster, **changes: Any) -> int:
    """A job typed into a shell, beside a request of the portal that stays where it is."""
    spare = Handover(job=Job.objects.first() or bench.submit())
    who = people.Identity(bench.user.username, bench.user.uid_number or 0, "/", "/bin/sh")
    asked = dataclasses.replace(handing.submissions.submission_of(spare.job, spare, who), comment="mine")
    return cluster.gateway().submit(dataclasses.replace(asked, **changes), as_user=bench.user.username)


def test_a_path_longer_than_ours_does_not_stop_the_look(bench: Bench, cluster: fake.Cluster) -> None:
    handing_over = bench.submit()
    Job.objects.update(phase=Phase.HANDING)
    long = by_ssh(bench, cluster, standard_output=f"{bench.project.folder}/{'x' * 600}", partition="gpu")
    other = by_ssh(bench, cluster)
    look(cluster, bench)
    taken = Job.objects.exclude(pk=handing_over.pk)
    assert set(taken.values_list("slurm_job_id", flat=True)) == {long, other}
    assert Handover.objects.get(slurm_job_id=long).stdout_path == ""


def test_one_that_cannot_be_written_down_hides_no_other(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.submit()
    Job.objects.update(phase=Phase.HANDING)
    monkeypatch.setattr(recording, "LONGEST_PATH", 10_000)
    by_ssh(bench, cluster, standard_output=f"{bench.project.folder}/{'x' * 600}")
    other = by_ssh(bench, cluster)
    look(cluster, bench)
    assert Job.objects.get(source="outside").slurm_job_id == other


def test_every_task_of_an_array_is_taken_in_with_one_question(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.submit()
    Job.objects.update(phase=Phase.HANDING)
    gateway, number = cluster.gateway(), by_ssh(bench, cluster, name="sweep")
    full, asked = gateway.job(number), list[int]()
    assert full is not None
    first = dataclasses.replace(full, array_task=0)

    def job(_self: object, job_id: int, **_: object) -> JobRecord:
        asked.append(job_id)
        return first

    monkeypatch.setattr(type(gateway), "job", job)
    discovery.meet(gateway, bench.cluster, [dataclasses.replace(first, array_task=task, name="") for task in range(3)])
    tasks = Handover.objects.filter(slurm_job_id=number, job__name="sweep")
    assert set(tasks.values_list("array_task", flat=True)) == {0, 1, 2} and asked == [number]


def test_a_name_with_escape_codes_is_shown_without_them(bench: Bench, cluster: fake.Cluster) -> None:
    bench.submit()
    Job.objects.update(phase=Phase.HANDING)
    number = by_ssh(bench, cluster, name="a\x1b]0;b\x07\nc")
    look(cluster, bench)
    assert Job.objects.get(slurm_job_id=number).name == "a\ufffd]0;b\ufffd\ufffdc"


def test_a_copied_token_does_not_hide_a_job(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    handing.hand_over()
    copied = by_ssh(bench, cluster, comment=job.handovers.get().comment)
    cluster.gateway().release(copied, as_user=bench.user.username)
    look(cluster, bench)
    assert Job.objects.get(slurm_job_id=copied).is_outside
    assert not Intent.objects.exists()


def test_a_job_taken_between_the_bulk_read_and_the_meeting_is_not_thrown_away(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    monkeypatch.setattr(handing, "_release", lambda *_: None)  # the worker has recorded it and not released it yet
    handing.hand_over()
    Intent.objects.all().delete()
    discovery.meet(cluster.gateway(), bench.cluster, cluster.gateway().jobs())
    assert not Intent.objects.exists()
    job.refresh_from_db()
    record = cluster.gateway().job(job.slurm_job_id or 0)
    assert record is not None
    discovery.discard(job.handovers.get(), record)
    intents.carry_out()
    assert Intent.objects.get().result == "it is ours" and not cluster.every_job[0].is_over


@pytest.mark.parametrize("error", [Unreachable("gone"), Refused("no")])
def test_what_cannot_be_read_back_is_unknown_and_sent_no_second_time(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch, error: SlurmError
) -> None:
    job = bench.submit()
    gateway = type(cluster.gateway())

    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(gateway, "job", fail)
        handing.hand_over()
    job.refresh_from_db()
    assert (job.phase, job.handovers.get().outcome) == (Phase.CONFIRMING, HandoverOutcome.UNKNOWN)
    assert Hold.objects.get().released_at is None
    look(cluster, bench)
    intents.carry_out()
    job.refresh_from_db()
    assert (job.phase, len(cluster.every_job)) == (Phase.ACCEPTED, 1)


def test_who_left_while_the_outcome_was_unknown_leaves_nothing_held(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    cluster.lose_next_answer()
    handing.hand_over()

    def no(*_: object) -> people.Identity:
        raise people.MayNot("left")

    monkeypatch.setattr(people, "identity", no)
    look(cluster, bench)
    intents.carry_out()
    intents.carry_out()
    job.refresh_from_db()
    assert job.phase == Phase.REFUSED and Hold.objects.get().released_at
    assert cluster.every_job[0].is_over
    assert AuditEvent.objects.filter(action=Action.JOB_REFUSED).count() == 1


def test_an_adoption_that_was_settled_meanwhile_is_not_done_twice(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.submit()
    cluster.lose_next_answer()
    handing.hand_over()
    look(cluster, bench)
    intent = Intent.objects.select_related("job__project", "job__owner", "job__allocation", "handover").get(
        kind=IntentKind.ADOPT
    )
    assert intents._adopt(intent) == "adopted"
    intent.handover.outcome = HandoverOutcome.UNKNOWN  # type: ignore[union-attr]  # as a second worker read it
    assert intents._adopt(intent) == "settled otherwise"
    assert AuditEvent.objects.filter(action=Action.JOB_ADOPTED).count() == 1


def test_outputs_elsewhere_do_not_keep_others_from_their_tickets(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> None:
    monkeypatch.setattr(tickets, "signing_key", Ed25519PrivateKey.generate)
    settings.TICKET_KEY_FILE = str(tmp_path / "key")
    job = bench.submit()
    handing.hand_over()
    good = job.handovers.get()
    elsewhere = by_ssh(bench, cluster, standard_output="/home/x/out")
    look(cluster, bench)
    while tickets.renew(limit=1):
        pass  # ends: what cannot be signed is not asked again and again
    soon = timezone.now() + timedelta(days=1)
    Handover.objects.filter(pk=good.pk).update(ticket="", ticket_expires_at=soon)
    assert tickets.renew(limit=1) == 1
    good.refresh_from_db()
    assert good.ticket and Handover.objects.get(slurm_job_id=elsewhere).ticket == ""


def enter(client: Client, user: User) -> None:
    client.force_login(user, backend="accounts.directory.backend.DirectoryBackend")
    session = client.session
    session["began"], session["epoch"] = timezone.now().timestamp(), user.session_epoch
    session.save()


def test_a_page_of_own_jobs_ends_with_the_membership(bench: Bench, client: Client) -> None:
    bench.submit(name="secret-name")
    enter(client, bench.user)
    assert "secret-name" in client.get("/").content.decode()
    bench.user.memberships.update(ends_at=timezone.now())
    assert "secret-name" not in client.get("/").content.decode()


def test_nonsense_in_a_query_or_a_form_is_no_fault(bench: Bench, client: Client) -> None:
    enter(client, bench.user)
    assert client.get("/jobs/?project=%00").status_code == 200
    assert client.get("/jobs/new?project=%00").status_code == 404
    assert client.get(f"/jobs/{bench.submit().pk}/log?offset=--5").status_code == 200
    asked = {"name": "n", "partition": "gpu", "gpus": 1, "script": "#!/bin/sh\n", "project": bench.project.code}
    assert client.post("/jobs/new", asked | {"key": "a\x00b"}).status_code == 302
    assert Job.objects.filter(idempotency_key="a\ufffdb").exists()


def test_from_where_somebody_acted_is_told_to_who_may_read_the_whole_trail(bench: Bench, client: Client) -> None:
    with context.coming_from("web", address="203.0.113.9"):
        job = bench.submit()
        trail.record(Action.LOG_READ, by=bench.user, about=job, project=bench.project)
    pages = [(make_member(bench.project, role="pi"), False), (make_user(site_role="auditor"), True)]
    for person, told in pages:
        enter(client, person)
        for url in (f"/jobs/{job.pk}?tab=events", f"/projects/{bench.project.code}/trail"):
            assert ("203.0.113.9" in client.get(url).content.decode()) is told
