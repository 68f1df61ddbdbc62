"""Notices: written with what happened and once, told as each person chose, mailed once, and nothing of another's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import transaction
from django.utils import timezone, translation

from access.roles import Role
from accounts.models import User
from jobs.models import Handover, Job, Kind, Notice, NoticeChoice, Phase, Run, Way
from jobs.services import following, handing, noticing, outcomes
from jobs.services.noticing import noting, telling
from jobs.states import State
from portal.templatetags.jobs import told
from projects import services as projects
from projects.models import Membership
from slurm import fake
from tests.factories import make_member, make_project
from tests.jobs.conftest import Bench
from tests.pages import signed_in

EN = {"Accept-Language": "en"}


@pytest.fixture(autouse=True)
def in_english(settings: Any) -> Iterator[None]:
    settings.MAIL_IS_ON = True
    with translation.override("en"):
        yield


@pytest.fixture
def owner(bench: Bench) -> User:
    User.objects.filter(pk=bench.user.pk).update(email="davi@lab.example", language="en")
    return User.objects.get(pk=bench.user.pk)


def look(bench: Bench, cluster: fake.Cluster) -> None:
    cluster.tick()
    following.look_at_jobs(cluster.gateway(), bench.cluster)


def ran(bench: Bench, cluster: fake.Cluster, exit_code: int = 0, **asked: Any) -> Job:
    job = bench.submit(**asked)
    handing.hand_over()
    look(bench, cluster)
    number = Job.objects.get(pk=job.pk).slurm_job_id or 0
    cluster.finish(number, exit_code=exit_code)
    look(bench, cluster)
    return Job.objects.get(pk=job.pk)


def kinds() -> list[str]:
    return sorted(Notice.objects.values_list("kind", flat=True))


def failed(bench: Bench, count: int = 1) -> list[Job]:
    jobs = [bench.submit() for _ in range(count)]
    for job in jobs:
        noting.note(job, Kind.FAILED)
    return jobs


def test_a_job_that_starts_and_ends_is_noted_once(bench: Bench, cluster: fake.Cluster, owner: User) -> None:
    job = ran(bench, cluster)
    look(bench, cluster)
    assert kinds() == ["ended", "started"]
    assert noticing.tell() == 2 and noticing.tell() == 0
    ways = dict(Notice.objects.values_list("kind", "way"))
    assert ways == {"started": Way.NONE, "ended": Way.BELL} and mail.outbox == []
    assert [row.job_id for row in noticing.shown(owner)] == [job.pk]


def test_a_failure_is_mailed_once_in_the_persons_language(bench: Bench, cluster: fake.Cluster, owner: User) -> None:
    job = ran(bench, cluster, exit_code=3)
    User.objects.filter(pk=owner.pk).update(language="pt-br")
    for _ in range(3):
        noticing.tell()
    assert len(mail.outbox) == 1 and mail.outbox[0].to == ["davi@lab.example"]
    assert "falhou" in mail.outbox[0].subject and job.get_absolute_url() in mail.outbox[0].body


def test_a_refusal_is_told_too(bench: Bench, owner: User) -> None:
    job = bench.submit()
    Job.objects.filter(pk=job.pk).update(phase=Phase.HANDING)
    with transaction.atomic():
        outcomes.refuse(Job.objects.get(pk=job.pk), "no")
    assert kinds() == ["failed"]


def test_of_an_array_there_is_one_of_a_kind(bench: Bench, cluster: fake.Cluster, owner: User) -> None:
    job = bench.submit(array="1-20", cpus=1, memory_gb=1)
    handing.hand_over()
    for _ in range(3):
        look(bench, cluster)
    number = Job.objects.get(pk=job.pk).slurm_job_id or 0
    for task in range(1, 21):
        look(bench, cluster)
        cluster.finish(number, task=task, exit_code=1)
    look(bench, cluster)
    assert kinds().count("failed") <= 1 and len(kinds()) <= 2


def test_eighty_per_cent_of_the_time(bench: Bench, owner: User) -> None:
    job = bench.submit(time_limit_minutes=100)
    Job.objects.filter(pk=job.pk).update(phase=Phase.HANDING)
    about = {"phase": Phase.ACCEPTED, "state": State.RUNNING}
    Job.objects.filter(pk=job.pk).update(started_at=timezone.now() - timedelta(minutes=70), **about)
    assert noticing.look_at_clock() == 0
    Job.objects.filter(pk=job.pk).update(started_at=timezone.now() - timedelta(minutes=81))
    assert noticing.look_at_clock() == 1 and noticing.look_at_clock() == 0
    assert kinds() == ["time"]


def test_of_an_array_the_task_that_runs_longest_counts(bench: Bench, owner: User) -> None:
    job = bench.submit(time_limit_minutes=100, array="1-9", gpus=0)
    ago = {minutes: timezone.now() - timedelta(minutes=minutes) for minutes in (300, 81, 70)}
    Job.objects.filter(pk=job.pk).update(phase=Phase.HANDING)
    Job.objects.filter(pk=job.pk).update(phase=Phase.ACCEPTED, state=State.RUNNING, started_at=ago[300])
    handover = Handover.objects.create(job=job, cluster=bench.cluster, attempt=1, token="0" * 32)
    Run.objects.create(handover=handover, array_task=1, started_at=ago[300], ended_at=ago[81])
    Run.objects.create(handover=handover, array_task=2, started_at=ago[70])
    assert noticing.look_at_clock() == 0
    Run.objects.create(handover=handover, array_task=3, started_at=ago[81])
    assert noticing.look_at_clock() == 1 and noticing.look_at_clock() == 0
    assert told(Notice.objects.select_related("job").get()) == f"A task of {job.name} has used 80 % of its time."


def test_ones_choice_and_that_of_a_job(bench: Bench, owner: User) -> None:
    quiet, loud = failed(bench, 2)
    noticing.choose(by=owner, ways={"failed": "none", "ended": "nonsense", "other": "mail"})
    noticing.choose(by=owner, ways={"failed": "mail"}, job=loud)
    assert NoticeChoice.objects.get(job=None).ways == {"failed": "none"}
    noticing.tell()
    assert dict(Notice.objects.values_list("job", "way")) == {quiet.pk: Way.NONE, loud.pk: Way.MAIL}
    assert len(mail.outbox) == 1
    stranger = make_member(make_project())
    noticing.choose(by=stranger, ways={"failed": "mail"}, job=loud)
    assert not NoticeChoice.objects.filter(user=stranger).exists()


def test_many_go_in_one_mail_and_mails_are_bounded(bench: Bench, owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    failed(bench, 3)
    noticing.tell()
    assert len(mail.outbox) == 1 and mail.outbox[0].subject == "3 notices about your jobs"
    monkeypatch.setattr(telling, "MAILS_AN_HOUR", 2)
    for _ in range(3):
        failed(bench)
        noticing.tell()
    assert len(mail.outbox) == 2
    Notice.objects.exclude(mail_began_at=None).update(mail_began_at=timezone.now() - timedelta(hours=2))
    noticing.tell()
    assert len(mail.outbox) == 3 and mail.outbox[2].subject == "2 notices about your jobs"


class Broken(EmailBackend):
    """Refuses, or dies after the mail has gone."""

    error: BaseException | None = OSError("no route")
    sent = 0

    def send_messages(self, messages: Any) -> int:
        Broken.sent += 1
        if Broken.error:
            raise Broken.error
        return len(messages)


def test_a_server_that_refuses_is_tried_again_and_a_worker_that_dies_sends_none_twice(
    bench: Bench, owner: User, settings: Any
) -> None:
    settings.EMAIL_BACKEND = f"{__name__}.Broken"
    Broken.sent, Broken.error = 0, OSError("no route")
    failed(bench)
    noticing.tell()
    assert Broken.sent == 1 and Notice.objects.get().mail_began_at is None
    Broken.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        noticing.tell()
    Broken.error = None
    noticing.tell()
    assert Broken.sent == 2 and Notice.objects.get().mailed_at is None


def test_who_has_left_is_told_nothing(bench: Bench, owner: User) -> None:
    failed(bench)
    pi = make_member(bench.project, Role.PI)
    noticing.tell()
    assert len(noticing.shown(owner)) == 1 and len(mail.outbox) == 1
    failed(bench)
    projects.remove_member(by=pi, membership=Membership.objects.get(user=owner), why="left")
    noticing.tell()
    assert noticing.shown(owner) == [] and len(mail.outbox) == 1


def test_the_page_the_bell_and_the_choice(bench: Bench, owner: User) -> None:
    browser = signed_in(owner)
    assert "Nothing yet." in browser.get("/jobs/notices", headers=EN).text
    (job,) = failed(bench)
    noticing.tell()
    other = signed_in(make_member(bench.project))
    assert "bell__n" not in other.get("/jobs/notices/bell").text and "has failed" not in other.get("/jobs/notices").text
    assert '<span class="bell__n" aria-hidden="true">1</span>' in browser.get("/jobs/notices/bell").text
    page = browser.get("/jobs/notices", headers=EN).text
    assert "has failed" in page or "runs again" in page
    browser.post("/jobs/notices/read")
    assert "bell__n" not in browser.get("/jobs/notices/bell").text
    browser.post("/jobs/notices/choice", {"failed": "bell", "started": "mail", "ended": "none", "time": "none"})
    assert noticing.ways_of(owner)["started"] == Way.MAIL
    assert "Notices" in browser.get(job.get_absolute_url(), headers=EN).text
    browser.post(f"{job.get_absolute_url()}/notices", {"started": "none"})
    assert noticing.ways_of(owner, job)["started"] == Way.NONE
    other.post(f"{job.get_absolute_url()}/notices", {"started": "mail"})
    assert NoticeChoice.objects.count() == 2


def test_what_is_old_is_thrown_away(bench: Bench, owner: User) -> None:
    failed(bench)
    Notice.objects.update(at=timezone.now() - timedelta(days=91))
    noticing.tell()
    assert not Notice.objects.exists()
