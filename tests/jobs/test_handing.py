"""Handing over: held, compared, recorded, released; and every way it may break leaves no job lost or doubled."""

from __future__ import annotations

import dataclasses
import itertools
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.lookup import DirectoryDown
from audit.actions import Action
from audit.models import AuditEvent
from jobs import services
from jobs.models import Handover, HandoverOutcome, Intent, IntentKind, Job, Phase
from jobs.services import following, handing, intents, people, recording
from jobs.services.loop import Follower
from jobs.states import State
from quotas.models import Enforcement, Hold
from quotas.services import ticks
from slurm import fake
from slurm.books import Association
from slurm.contract import JobRecord, Unanswered
from slurm.fake.gateway import FakeGateway
from tests.conftest import Roles
from tests.jobs.conftest import Bench


@pytest.fixture(autouse=True)
def _as_the_worker(cluster: fake.Cluster, bench: Bench) -> None:
    """The cluster is there; see `later` for time that passes."""


def later(cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Time passes here and in Slurm."""
    now = timezone.now() + timedelta(seconds=seconds)
    monkeypatch.setattr(timezone, "now", lambda: now)
    cluster.turn(seconds=(now - cluster.now).total_seconds())


def look(cluster: fake.Cluster, bench: Bench) -> None:
    bench.cluster.refresh_from_db()
    following.look_at_jobs(cluster.gateway(), bench.cluster)


def events(action: Action) -> int:
    return AuditEvent.objects.filter(action=action).count()


def test_from_request_to_waiting_as_the_slurm_role(bench: Bench, cluster: fake.Cluster, roles: Roles) -> None:
    roles.use("web")
    job = bench.submit()
    roles.use("slurm")
    assert handing.hand_over() == 1
    job.refresh_from_db()
    handover = job.handovers.get()
    assert (job.phase, handover.outcome) == (Phase.ACCEPTED, HandoverOutcome.ACCEPTED)
    assert handover.released_at and handover.uid == bench.user.uid_number
    assert handover.stdout_path == f"{bench.project.folder}/logs/{job.pk}-{job.slurm_job_id}.out"
    asked = cluster.every_job[0].asked
    assert (asked.gpu_type, asked.gpus, asked.qos) == ("a100", 2, bench.allocation.qos)
    assert asked.environment["PYTHONUNBUFFERED"] == "1" and asked.environment["BANCADA_JOB"] == str(job.pk)
    assert events(Action.JOB_ACCEPTED) == events(Action.JOB_RELEASED) == 1
    assert handing.hand_over() == 0


def test_it_is_seen_to_run_and_to_end_with_its_exit_code(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    handing.hand_over()
    cluster.tick()
    look(cluster, bench)
    job.refresh_from_db()
    assert (job.state, job.allocated_gpus) == (State.RUNNING, 2)
    cluster.turn(minutes=30)
    cluster.finish(job.slurm_job_id or 0, exit_code=3)
    look(cluster, bench)
    job.refresh_from_db()
    assert (job.phase, job.state, job.exit_code) == (Phase.ENDED, State.FAILED, 3)
    hold = Hold.objects.get()
    assert hold.released_at and hold.used_gpu_minutes == pytest.approx(60, abs=1)
    bench.allocation.refresh_from_db()
    assert bench.allocation.used_gpu_minutes == hold.used_gpu_minutes
    assert (events(Action.JOB_STARTED), events(Action.JOB_ENDED)) == (1, 1)
    change = job.change
    look(cluster, bench)
    job.refresh_from_db()
    assert job.change == change


def test_slurm_refuses_and_the_words_are_kept(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    cluster.associations.clear()
    handing.hand_over()
    job.refresh_from_db()
    assert (job.phase, job.state) == (Phase.REFUSED, State.REFUSED)
    assert job.refusal
    assert Hold.objects.get().released_at
    assert events(Action.JOB_REFUSED) == 1


def test_with_slurm_away_nothing_is_taken_and_later_it_goes(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    cluster.go_down()
    assert handing.hand_over() == 0
    job.refresh_from_db()
    assert job.phase == Phase.REQUESTED
    cluster.come_up()
    assert handing.hand_over() == 1


def test_with_the_directory_away_the_request_waits_on_one_row(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    good = people.identity

    def down(*_: object) -> people.Identity:
        raise DirectoryDown("no answer")

    monkeypatch.setattr(people, "identity", down)
    handing.hand_over()
    handing.hand_over()
    job.refresh_from_db()
    assert (job.phase, job.handovers.get().outcome) == (Phase.REQUESTED, HandoverOutcome.NOT_SENT)
    monkeypatch.setattr(people, "identity", good)
    handing.hand_over()
    job.refresh_from_db()
    assert (job.phase, job.handovers.get().outcome) == (Phase.ACCEPTED, HandoverOutcome.ACCEPTED)


def test_who_is_no_member_any_more_is_not_acted_for(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()

    def no(*_: object) -> people.Identity:
        raise people.MayNot("left")

    monkeypatch.setattr(people, "identity", no)
    handing.hand_over()
    job.refresh_from_db()
    assert job.phase == Phase.REFUSED and not cluster.every_job


def test_a_lost_answer_is_unknown_then_adopted_and_never_doubled(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    cluster.lose_next_answer()
    handing.hand_over()
    job.refresh_from_db()
    assert (job.phase, job.state) == (Phase.CONFIRMING, State.CONFIRMING)
    assert len(cluster.every_job) == 1 and not cluster.every_job[0].is_running
    look(cluster, bench)
    assert Intent.objects.get(kind=IntentKind.ADOPT).slurm_job_id == 1
    intents.carry_out()
    intents.carry_out()
    job.refresh_from_db()
    assert (job.phase, job.slurm_job_id) == (Phase.ACCEPTED, 1)
    cluster.tick()
    assert cluster.every_job[0].is_running and len(cluster.every_job) == 1
    assert Job.objects.count() == 1


def test_an_unanswered_submission_that_never_arrived_is_sent_again_after_the_settle_time(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    monkeypatch.setattr(type(cluster.gateway()), "submit", _raise(Unanswered("gone")))
    handing.hand_over()
    monkeypatch.undo()
    look(cluster, bench)
    assert not Intent.objects.exists()
    later(cluster, monkeypatch, 40)
    look(cluster, bench)
    assert Intent.objects.get().kind == IntentKind.RESUBMIT
    intents.carry_out()
    job.refresh_from_db()
    assert job.phase == Phase.REQUESTED
    assert job.handovers.get().outcome == HandoverOutcome.ABSENT


def _raise(error: Exception) -> object:
    def call(*_: object, **__: object) -> None:
        raise error

    return call


def test_a_worker_killed_after_sending_leaves_an_attempt_that_is_adopted(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    [handover] = handing.claim()
    attempt = handing.outcomes.Attempt(handover)
    handing._identify([attempt])
    handing._submit(cluster.gateway(), attempt, float("inf"))
    look(cluster, bench)  # the worker is dead; not yet abandoned, and not taken for work from outside
    assert Job.objects.count() == 1
    later(cluster, monkeypatch, 61)
    look(cluster, bench)
    look(cluster, bench)
    intents.carry_out()
    intents.carry_out()
    job.refresh_from_db()
    assert (job.phase, len(cluster.every_job)) == (Phase.ACCEPTED, 1)
    handing.record_accepted([attempt])  # the frozen worker wakes up: too late, nothing changes
    assert job.handovers.count() == 1


def test_what_slurm_made_different_is_refused_and_thrown_away(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    monkeypatch.setattr(handing.submissions, "differences", lambda *_: ["partition"])
    handing.hand_over()
    job.refresh_from_db()
    assert job.phase == Phase.REFUSED and "partition" in job.refusal
    intents.carry_out()
    assert cluster.every_job[0].is_over


def test_a_crash_of_the_controller_after_acceptance_is_noticed(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    handing.hand_over()
    look(cluster, bench)
    job.refresh_from_db()
    cluster.lose(job.slurm_job_id or 0)
    look(cluster, bench)
    later(cluster, monkeypatch, 40)
    look(cluster, bench)
    job.refresh_from_db()
    assert (job.phase, job.state) == (Phase.LOST, State.LOST)
    assert Hold.objects.get().released_at


def test_an_unreachable_scheduler_changes_no_job(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    handing.hand_over()
    follower = Follower(cluster.gateway())
    follower.step()
    before = Job.objects.values().get(pk=job.pk)
    cluster.go_down()
    follower.due = dict.fromkeys(follower.due, 0)
    follower.step()
    bench.cluster.refresh_from_db()
    assert bench.cluster.unreachable and bench.cluster.last_error
    assert Job.objects.values().get(pk=job.pk) == before


def test_cancelled_before_slurm_had_it(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    services.cancel(job=job, by=bench.user)
    assert handing.hand_over() == 0
    intents.carry_out()
    job.refresh_from_db()
    assert (job.phase, job.state) == (Phase.CANCELLED, State.CANCELLED)
    assert not cluster.every_job and Hold.objects.get().released_at


def test_cancelled_while_it_runs_shows_at_once(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    handing.hand_over()
    cluster.tick()
    look(cluster, bench)
    services.cancel(job=job, by=bench.user)
    intents.carry_out()
    job.refresh_from_db()
    assert (job.phase, job.state) == (Phase.ENDED, State.CANCELLED)
    assert Intent.objects.filter(done_at=None).count() == 0


def test_cancelled_while_its_outcome_is_unknown_ends_after_adoption_and_is_never_released(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    cluster.lose_next_answer()
    handing.hand_over()
    services.cancel(job=job, by=bench.user)
    intents.carry_out()
    look(cluster, bench)
    Intent.objects.update(next_try_at=timezone.now())
    intents.carry_out()
    Intent.objects.filter(done_at=None).update(next_try_at=timezone.now())
    intents.carry_out()
    job.refresh_from_db()
    assert job.state == State.CANCELLED
    assert cluster.every_job[0].run.start_time is None


def test_work_from_outside_appears_marked_so(bench: Bench, cluster: fake.Cluster) -> None:
    handover = Handover(job=bench.submit())
    theirs = handing.submissions.submission_of(
        handover.job, handover, people.Identity(bench.user.username, bench.user.uid_number or 0, "/", "/bin/sh")
    )
    Job.objects.update(phase=Phase.HANDING)

    job_id = cluster.gateway().submit(dataclasses.replace(theirs, comment="mine"), as_user=bench.user.username)
    look(cluster, bench)
    job = Job.objects.get(slurm_job_id=job_id)
    assert job.is_outside and job.owner == bench.user
    look(cluster, bench)
    assert Job.objects.filter(slurm_job_id=job_id).count() == 1
    assert events(Action.JOB_DISCOVERED) == 1


def test_a_requeue_is_the_same_job_with_another_run(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    handing.hand_over()
    cluster.tick()
    look(cluster, bench)
    job.refresh_from_db()
    cluster.requeue(job.slurm_job_id or 0)
    look(cluster, bench)
    look(cluster, bench)
    job.refresh_from_db()
    assert job.phase == Phase.ACCEPTED and Job.objects.count() == 1
    cluster.turn(minutes=3)
    look(cluster, bench)
    job.refresh_from_db()
    assert job.state == State.RUNNING
    assert [run.restart_count for run in job.handovers.get().runs.all()] == [0, 1]


def test_a_number_that_comes_back_for_somebody_else_is_not_ours(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    handing.hand_over()
    Handover.objects.update(uid=4242)
    services.cancel(job=job, by=bench.user)
    intents.carry_out()
    assert not cluster.every_job[0].is_over


def test_work_that_comes_in_an_idle_hour_is_looked_at_soon(bench: Bench, cluster: fake.Cluster) -> None:
    now = [0.0]
    follower = Follower(cluster.gateway(), clock=lambda: now[0])
    follower.step()
    bench.submit()
    handing.hand_over()
    looks = []
    for second in range(1, 6):
        now[0] = float(second)
        assert follower.step() <= 1.0
        looks.append(Job.objects.get().state)
    assert State.RUNNING in looks


def test_an_accounting_that_does_not_answer_leaves_the_picture_good(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    cluster.lose_next_answer()
    handing.hand_over()
    cluster.go_down("slurmdbd")
    look(cluster, bench)
    bench.cluster.refresh_from_db()
    job.refresh_from_db()
    assert not bench.cluster.unreachable and job.phase == Phase.CONFIRMING
    cluster.come_up("slurmdbd")
    look(cluster, bench)
    assert Intent.objects.get().kind == IntentKind.ADOPT


def test_the_nodes_are_looked_at_sooner_when_jobs_begin_or_end(bench: Bench, cluster: fake.Cluster) -> None:
    now = [100.0]
    follower = Follower(cluster.gateway(), clock=lambda: now[0])
    follower.step()
    bench.submit()
    handing.hand_over()
    cluster.tick()
    for _second in range(20):
        now[0] += 1.0
        follower.step()
    used = {node.name: node.gpus_allocated for node in bench.cluster.nodes.all()}
    assert sum(used.values()) == 2


def test_jobs_that_only_run_are_looked_at_half_as_often_until_something_happens(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, looks, look = [0.0], list[float](), following.look_at_jobs
    monkeypatch.setattr(following, "look_at_jobs", lambda *those: looks.append(now[0]) or look(*those))
    follower = Follower(cluster.gateway(), clock=lambda: now[0])
    bench.submit()
    handing.hand_over()
    cluster.tick()

    def pass_by(seconds: int) -> list[float]:
        looks.clear()
        for _second in range(seconds):
            now[0] += 1.0
            follower.step()
        return [later - earlier for earlier, later in itertools.pairwise(looks)]

    assert set(pass_by(30)) == {5.0}  # it began a moment ago
    pass_by(10)
    assert set(pass_by(60)) == {10.0}
    bench.submit()
    pass_by(4)
    assert len(looks) == 1  # somebody asked for a job: seen soon, and often again
    assert set(pass_by(20)) == {5.0}


def test_what_is_over_here_and_there_is_not_read_again_at_every_look(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.submit()
    handing.hand_over()
    cluster.tick()
    look(cluster, bench)
    cluster.finish(Job.objects.get().slurm_job_id or 0)
    look(cluster, bench)
    assert Job.objects.get().phase == Phase.ENDED
    compared, apply = [], recording.apply
    monkeypatch.setattr(recording, "apply", lambda *those: compared.append(those) or apply(*those))
    look(cluster, bench)
    assert not compared and Job.objects.count() == 1  # nor taken for a stranger


def test_a_project_slurm_has_not_heard_of_is_made_known_before_its_first_job(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    Enforcement.objects.all().delete()
    cluster.associations.clear()
    cluster.associations["root", "", ""] = Association("root")
    monkeypatch.setattr(ticks, "on_system", lambda _login: True)
    job = bench.submit()
    cluster.health.down.add("slurmdbd")
    handing.hand_over()
    job.refresh_from_db()
    assert job.phase == Phase.REQUESTED  # it waits; Slurm would have refused it
    cluster.health.down.clear()
    Enforcement.objects.update(error="")  # the round of the worker that tries again
    handing.hand_over()
    job.refresh_from_db()
    assert job.phase == Phase.ACCEPTED


def test_one_ping_for_a_burst_and_one_after_anything_went_wrong(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    pings = itertools.count()
    good = FakeGateway.version
    monkeypatch.setattr(FakeGateway, "version", lambda self: (next(pings), good(self))[1])
    for _ in range(3):
        bench.submit()
        handing.hand_over()
    assert next(pings) == 1
    cluster.go_down()
    job = bench.submit()
    assert handing.hand_over() == 1  # it had answered just now: taken, not sent, put back
    job.refresh_from_db()
    assert (job.phase, job.handovers.get().outcome) == (Phase.REQUESTED, HandoverOutcome.NOT_SENT)
    assert handing.hand_over() == 0 and next(pings) == 3


def test_a_worker_killed_between_record_and_release_leaves_nothing_held_for_ever(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()
    with monkeypatch.context() as broken, pytest.raises(SystemExit):
        broken.setattr(handing, "_release", _end)
        handing.hand_over()
    job.refresh_from_db()
    assert (job.phase, job.handovers.get().released_at) == (Phase.ACCEPTED, None)
    look(cluster, bench)
    assert not Intent.objects.exists()  # a living worker may still be at it
    later(cluster, monkeypatch, 61)
    look(cluster, bench)
    look(cluster, bench)
    assert Intent.objects.filter(kind=IntentKind.RELEASE).count() == 1
    assert intents.carry_out() == 1
    assert job.handovers.get().released_at and events(Action.JOB_RELEASED) == 1
    cluster.tick()
    look(cluster, bench)
    job.refresh_from_db()
    assert job.state == State.RUNNING


def _end(*_: object) -> None:
    raise SystemExit


def test_somebody_elses_hold_is_not_ended(bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    job = bench.submit()
    handing.hand_over()
    job.refresh_from_db()
    cluster.gateway().hold(job.slurm_job_id or 0, as_user=bench.user.username)
    later(cluster, monkeypatch, 61)
    look(cluster, bench)
    assert not Intent.objects.exists()


def test_a_release_that_failed_shows_the_hold(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.submit()

    def fails(*_: object, **__: object) -> None:
        raise Unanswered("cut")

    monkeypatch.setattr(FakeGateway, "release", fails)
    handing.hand_over()
    job.refresh_from_db()
    assert (job.phase, job.state) == (Phase.ACCEPTED, State.HELD)
    assert Intent.objects.get().kind == IntentKind.RELEASE and events(Action.JOB_RELEASED) == 0


def test_while_slurm_is_away_an_intent_is_not_used_up(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    handing.hand_over()
    services.cancel(job=job, by=bench.user)
    cluster.go_down()
    for _ in range(intents.PATIENCE + 2):
        Intent.objects.update(next_try_at=timezone.now())
        assert intents.carry_out() == 0
    cluster.come_up()
    Intent.objects.update(next_try_at=timezone.now())
    assert intents.carry_out() == 1 and cluster.every_job[0].is_over


def test_slurms_plan_of_a_start_is_kept_while_it_waits_and_small_moves_are_no_news(bench: Bench) -> None:
    now = timezone.now()
    job = bench.submit()
    record = JobRecord(job_id=7, submit_time=now, uid=1, user="ana", states=frozenset({"PENDING"}), account="a",
                       partition="gpu", qos="q", reason="Priority")  # fmt: skip

    def looked(**facts: object) -> bool:
        return recording.apply(job, dataclasses.replace(record, **facts))

    looked()
    assert job.planned_at is None
    assert looked(expected_start_time=now + timedelta(hours=2)) and job.planned_at == now + timedelta(hours=2)
    assert not looked(expected_start_time=now + timedelta(hours=2, seconds=50))
    assert looked(expected_start_time=now + timedelta(hours=3)) and job.planned_at == now + timedelta(hours=3)
    assert looked(expected_start_time=now - timedelta(seconds=1)) and job.planned_at is None
    looked(expected_start_time=now + timedelta(hours=1))
    assert looked(states=frozenset({"RUNNING"}), start_time=now) and job.planned_at is None
