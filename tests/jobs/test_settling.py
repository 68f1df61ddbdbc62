"""What is left to settle with Slurm: one that cannot be settled stops no other, and nobody acts for who has left."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import services
from jobs.models import Handover, Intent, IntentKind, Job, Phase, Source
from jobs.services import discovery, following, handing, intents, outcomes, people, submissions
from jobs.states import State
from quotas.models import Hold
from slurm import fake
from slurm.contract import JobRecord, Unanswered
from tests.jobs.conftest import Bench
from tests.jobs.test_strangers import by_ssh, look


def left(*_: object) -> people.Identity:
    raise people.MayNot("The person is no longer a member who may do this.")


def never(*_: object, **__: object) -> None:
    raise AssertionError("nobody acts as this person")


def test_an_attempt_that_cannot_be_found_out_holds_up_no_other(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = bench.submit(), bench.submit(name="b")
    cluster.lose_next_answer(2)
    handing.hand_over()
    gateway = cluster.gateway()
    find, silent = type(gateway).find, first.handovers.get().comment

    def asked(self: Any, **what: Any) -> Any:
        if what["comment"] == silent:
            raise Unanswered("slurmdbd is busy")
        return find(self, **what)

    monkeypatch.setattr(type(gateway), "find", asked)
    following.settle_unknown(gateway, bench.cluster)
    assert [intent.job for intent in Intent.objects.filter(kind=IntentKind.ADOPT)] == [second]


def test_who_released_a_refused_job_by_hand_has_it_as_a_job_from_outside(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    monkeypatch.setattr(submissions, "differences", lambda *_: ["name"])
    handing.hand_over()
    number = Intent.objects.get().slurm_job_id or 0
    cluster.gateway().release(number, as_user=bench.user.username)
    cluster.tick()
    intents.carry_out()
    assert Intent.objects.get().result == "released by hand: left alone"
    job.refresh_from_db()
    assert job.phase == Phase.REFUSED and f"goes on there as number {number}" in job.refusal
    look(cluster, bench)
    theirs = Job.objects.get(source=Source.OUTSIDE)
    assert (theirs.slurm_job_id, theirs.state, theirs.owner) == (number, State.RUNNING, bench.user)


def test_a_job_that_is_found_again_holds_its_part_again(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    handing.hand_over()
    cluster.tick()
    look(cluster, bench)
    following.lose(job.handovers.get())
    assert Hold.objects.get().released_at
    look(cluster, bench)
    job.refresh_from_db()
    assert job.state == State.RUNNING and Hold.objects.get().released_at is None


def test_who_has_left_is_not_spoken_for_and_their_job_ends_all_the_same(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    handing.hand_over()
    cluster.tick()
    look(cluster, bench)
    services.cancel(job=job, by=bench.user)
    monkeypatch.setattr(people, "identity", left)
    monkeypatch.setattr(type(cluster.gateway()), "cancel", never)
    intents.carry_out()
    job.refresh_from_db()
    assert (job.phase, job.state) == (Phase.ENDED, State.CANCELLED)


def test_what_is_still_held_of_who_has_left_never_starts(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    monkeypatch.setattr(handing, "_release", lambda *_: None)
    handing.hand_over()
    Intent.objects.all().delete()
    outcomes.intend(job.handovers.get(), IntentKind.RELEASE)
    monkeypatch.setattr(people, "identity", left)
    monkeypatch.setattr(type(cluster.gateway()), "release", never)
    intents.carry_out()
    job.refresh_from_db()
    assert job.state == State.CANCELLED and "no longer a member" in job.refusal
    assert Intent.objects.get().result.startswith("ended: ")
    assert Hold.objects.get().released_at


def tasks(bench: Bench, cluster: fake.Cluster, many: int) -> list[JobRecord]:
    """An array typed into a shell, as squeue shows it."""
    full = cluster.gateway().job(by_ssh(bench, cluster, name="sweep"))
    assert full is not None
    return [dataclasses.replace(full, array_task=task) for task in range(many)]


def test_a_great_array_comes_in_over_several_looks_in_few_statements(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.submit()
    Job.objects.update(phase=Phase.HANDING)
    monkeypatch.setattr(discovery, "MOST_AT_ONCE", 60)
    monkeypatch.setattr(discovery, "AT_A_TIME", 50)
    array = tasks(bench, cluster, 100)
    monkeypatch.setattr(type(cluster.gateway()), "job", lambda *_, **__: array[0])
    with CaptureQueriesContext(connection) as queries:
        discovery.meet(cluster.gateway(), bench.cluster, array)
    assert Handover.objects.filter(job__name="sweep").count() == 60
    inserts = [one for one in queries if "INSERT" in one["sql"]]
    assert len(inserts) == 7  # jobs, hand-overs, events, twice; their owner, once
    discovery.meet(cluster.gateway(), bench.cluster, array[60:])
    assert Handover.objects.filter(job__name="sweep").count() == 100


def test_one_that_cannot_be_written_down_keeps_none_of_its_neighbours_out(bench: Bench, cluster: fake.Cluster) -> None:
    good, bad = tasks(bench, cluster, 2)
    discovery.meet(cluster.gateway(), bench.cluster, [good])
    bad = dataclasses.replace(good, array_task=0)  # the same evidence once more: refused by a constraint
    other = dataclasses.replace(good, array_task=7)
    strangers = [discovery.Stranger(bench.project, one) for one in (bad, other)]
    discovery._take_in_or_each(bench.cluster, strangers)
    found = Handover.objects.filter(slurm_job_id=good.job_id).values_list("array_task", flat=True)
    assert sorted(found) == [0, 7]
