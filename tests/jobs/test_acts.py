"""Acts on jobs: what is possible, carried out in Slurm, recorded with before and after, one or many."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils import timezone, translation

from access.roles import Role, SiteRole
from audit.actions import Action
from audit.models import AuditEvent
from jobs.acts import Act, Rights, judge, possible
from jobs.models import Intent, IntentKind, Job, Star
from jobs.services import acts, following, handing, intents
from jobs.services.acts import NotPossible, many
from jobs.states import State
from slurm import fake
from tests.api import Caller, issue
from tests.conftest import Roles
from tests.factories import make_member, make_user
from tests.jobs.conftest import Bench
from tests.pages import signed_in

ALL = Rights(act=True, act_on_all=True, submit=True, operate=True)


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    with translation.override("en"):
        yield


def waiting(bench: Bench, cluster: fake.Cluster) -> Job:
    cluster.is_scheduling = False
    return seen(bench, cluster, bench.submit())


def running(bench: Bench, cluster: fake.Cluster) -> Job:
    return seen(bench, cluster, bench.submit())


def seen(bench: Bench, cluster: fake.Cluster, job: Job) -> Job:
    handing.hand_over()
    cluster.tick()
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    return Job.objects.get(pk=job.pk)


def looked(bench: Bench, cluster: fake.Cluster, job: Job) -> Job:
    intents.carry_out()
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    return Job.objects.get(pk=job.pk)


def changed() -> list[tuple[str, str]]:
    rows = AuditEvent.objects.filter(action=Action.JOB_CHANGED).order_by("pk")
    return [(row.detail["act"], row.outcome) for row in rows]


@pytest.mark.parametrize(
    ("state", "names"),
    [
        (State.WAITING, {"cancel", "hold", "extend", "rerun", "star", "unstar"}),
        (State.HELD, {"cancel", "release", "extend", "rerun", "star", "unstar"}),
        (State.RUNNING, {"cancel", "requeue", "extend", "rerun", "star", "unstar"}),
    ],
)
def test_what_is_possible_depends_on_the_state(state: State, names: set[str]) -> None:
    job = Job(name="x", script="#!", phase="accepted", state=state)
    assert set(possible(job, ALL)) == names
    assert set(possible(job, Rights())) == {"star", "unstar"}


def test_what_is_over_can_be_archived_and_run_again() -> None:
    job = Job(name="x", script="#!", phase="ended", state=State.FAILED)
    assert set(possible(job, ALL)) == {"rerun", "archive", "star", "unstar"}
    assert "submitted outside" not in str(judge(Job(phase="ended", source="outside"), Act.ARCHIVE, ALL).words)


def test_the_owner_holds_and_releases(bench: Bench, cluster: fake.Cluster) -> None:
    job = waiting(bench, cluster)
    acts.ask(job=job, act=Act.HOLD, by=bench.user)
    job = looked(bench, cluster, job)
    assert (job.state, job.reason) == (State.HELD, "JobHeldUser")
    acts.ask(job=job, act=Act.RELEASE, by=bench.user)
    assert looked(bench, cluster, job).state == State.WAITING
    assert changed() == [("hold_asked", "done"), ("let_go", "done")]
    asked = AuditEvent.objects.filter(action=Action.JOB_CHANGE_ASKED).order_by("pk")
    assert [(row.detail["act"], row.detail["before"]) for row in asked] == [
        ("hold_asked", "waiting"),
        ("let_go", "held"),
    ]


def test_what_a_manager_holds_its_owner_does_not_release(bench: Bench, cluster: fake.Cluster) -> None:
    job, manager = waiting(bench, cluster), make_member(bench.project, role=Role.MANAGER)
    acts.ask(job=job, act=Act.HOLD, by=manager)
    job = looked(bench, cluster, job)
    assert job.reason == "JobHeldAdmin"
    with pytest.raises(NotPossible, match="manager of the project"):
        acts.ask(job=job, act=Act.RELEASE, by=bench.user)
    acts.ask(job=job, act=Act.RELEASE, by=manager)
    assert looked(bench, cluster, job).state == State.WAITING


def test_a_running_job_goes_back_into_the_queue(bench: Bench, cluster: fake.Cluster) -> None:
    job = running(bench, cluster)
    acts.ask(job=job, act=Act.REQUEUE, by=bench.user)
    assert looked(bench, cluster, job).state in (State.WAITING, State.REQUEUED)
    assert changed() == [("requeue", "done")]


def test_an_administrator_changes_the_time_limit(bench: Bench, cluster: fake.Cluster) -> None:
    job, admin = running(bench, cluster), make_user("admin-demo", site_role=SiteRole.OPERATOR)
    with pytest.raises(NotPossible, match="Only a cluster administrator"):
        acts.ask(job=job, act=Act.EXTEND, by=bench.user, minutes=90)
    acts.ask(job=job, act=Act.EXTEND, by=admin, minutes=90)
    assert looked(bench, cluster, job).time_limit_minutes == 90
    event = AuditEvent.objects.get(action=Action.JOB_CHANGED)
    assert (event.detail["before"], event.detail["after"]) == ("60", "90")


class Killed(BaseException):
    """As the process dies: nothing of ours catches it."""


def test_killed_before_the_event_the_row_says_nothing_new_and_the_next_try_tells_it_all(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> None:
        raise Killed

    job, admin = running(bench, cluster), make_user("admin-demo", site_role=SiteRole.OPERATOR)
    acts.ask(job=job, act=Act.EXTEND, by=admin, minutes=90)
    with monkeypatch.context() as here, pytest.raises(Killed):
        here.setattr("audit.trail.insert", dies)
        intents.carry_out()
    assert Job.objects.get(pk=job.pk).time_limit_minutes == 60 and changed() == []
    Intent.objects.filter(kind=IntentKind.EXTEND, done_at=None).update(next_try_at=timezone.now())
    assert looked(bench, cluster, job).time_limit_minutes == 90
    event = AuditEvent.objects.get(action=Action.JOB_CHANGED)
    assert (event.detail["before"], event.detail["after"]) == ("60", "90")


def test_slurms_no_is_recorded_and_ends_the_intent(bench: Bench, cluster: fake.Cluster) -> None:
    job = running(bench, cluster)
    acts.ask(job=job, act=Act.REQUEUE, by=bench.user)
    cluster.finish(job.slurm_job_id or 0)
    looked(bench, cluster, job)
    assert changed() == [("requeue", "refused")]
    assert Intent.objects.get(kind=IntentKind.REQUEUE).result.startswith("Slurm refused")


def test_an_extension_asked_for_by_a_stolen_web_process_is_not_done(bench: Bench, cluster: fake.Cluster) -> None:
    job = running(bench, cluster)
    Intent.objects.create(job=job, kind=IntentKind.EXTEND, asked_by=bench.user, detail={"minutes": 9000})
    assert looked(bench, cluster, job).time_limit_minutes == 60


def test_asking_twice_leaves_one_intent(bench: Bench, cluster: fake.Cluster) -> None:
    job = waiting(bench, cluster)
    acts.ask(job=job, act=Act.HOLD, by=bench.user)
    acts.ask(job=job, act=Act.HOLD, by=bench.user)
    assert Intent.objects.filter(kind=IntentKind.HOLD_ASKED).count() == 1


def test_doors_ask_for_what_people_may_ask_and_no_more(bench: Bench, cluster: fake.Cluster, roles: Roles) -> None:
    from django.db import DatabaseError, transaction

    job = waiting(bench, cluster)
    roles.use("web")
    acts.ask(job=job, act=Act.HOLD, by=bench.user)
    acts.label(job=job, by=bench.user, alias="tentativa 2", note="with\nmore data\x00")
    acts.star(job=job, by=bench.user)
    for kind in (IntentKind.ADOPT, IntentKind.RELEASE, IntentKind.DISCARD):
        with pytest.raises(DatabaseError), transaction.atomic():
            Intent.objects.create(job=job, kind=kind)
    row = Job.objects.get(pk=job.pk)
    assert (row.called, row.name, row.note) == ("tentativa 2", "treino", "with more data")


def test_names_and_the_archive_are_recorded_with_before_and_after(bench: Bench, cluster: fake.Cluster) -> None:
    job = running(bench, cluster)
    cluster.finish(job.slurm_job_id or 0)
    job = looked(bench, cluster, job)
    acts.label(job=job, by=bench.user, alias="best")
    acts.label(job=job, by=bench.user, alias="treino")
    acts.archive(job=job, by=bench.user)
    acts.archive(job=job, by=bench.user)
    rows = [row.detail for row in AuditEvent.objects.filter(action=Action.JOB_LABELLED).order_by("pk")]
    assert [(row["field"], row["before"], row["after"]) for row in rows[:2]] == [
        ("alias", "", "best"),
        ("alias", "best", ""),
    ]
    assert len(rows) == 3 and rows[2]["field"] == "archived_at"


def test_many_at_once_each_for_itself(bench: Bench, cluster: fake.Cluster) -> None:
    over = running(bench, cluster)
    cluster.finish(over.slurm_job_id or 0)
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    waits = waiting(bench, cluster)
    ids = [over.pk, waits.pk]
    shown = {job.pk: verdict.ok for job, verdict in acts.preview(ids=ids, act=Act.HOLD, by=bench.user)}
    assert shown == {over.pk: False, waits.pk: True} and not Intent.objects.filter(kind=IntentKind.HOLD_ASKED)
    done = {outcome.job.pk: outcome.ok for outcome in acts.carry(ids=ids, act=Act.HOLD, by=bench.user)}
    assert done == shown
    assert acts.preview(ids=ids, act=Act.HOLD, by=make_user("stranger-demo")) == []


def test_cancelling_removes_no_history(bench: Bench, cluster: fake.Cluster) -> None:
    job = running(bench, cluster)
    many.do(job=job, act=Act.CANCEL, by=bench.user)
    job = looked(bench, cluster, job)
    assert job.state == State.CANCELLED and Job.objects.filter(pk=job.pk).exists()


def test_run_again_makes_the_same_request_and_says_of_what(bench: Bench, cluster: fake.Cluster) -> None:
    job = running(bench, cluster)
    made = many.do(job=job, act=Act.RERUN, by=bench.user)
    assert made is not None and made.digest == job.digest and made.pk != job.pk
    event = AuditEvent.objects.get(action=Action.JOB_REPEATED)
    assert event.detail["of"] == str(job.pk)


def test_from_the_page(bench: Bench, cluster: fake.Cluster) -> None:
    job, client = waiting(bench, cluster), signed_in(bench.user)
    page = client.get(job.get_absolute_url(), headers={"Accept-Language": "en"}).content.decode()
    assert "Hold in queue" in page and "Run again" in page and "Change the time limit" not in page
    client.post(f"{job.get_absolute_url()}/act", {"act": "hold"})
    client.post(f"{job.get_absolute_url()}/act", {"act": "star"})
    client.post(f"{job.get_absolute_url()}/label", {"alias": "x", "note": "y"})
    assert looked(bench, cluster, job).state == State.HELD and Star.objects.count() == 1


def test_several_from_the_list_after_a_preview(bench: Bench, cluster: fake.Cluster) -> None:
    job, client = waiting(bench, cluster), signed_in(bench.user)
    asked = {"act": "cancel", "job": [str(job.pk), "nonsense"], "back": "https://elsewhere.example/jobs/"}
    shown = client.post("/jobs/acts", asked, headers={"Accept-Language": "en"})
    assert "leaves the queue without having run" in shown.content.decode()
    assert Job.objects.get(pk=job.pk).cancel_asked_at is None
    done = client.post("/jobs/acts", asked | {"sure": "yes"})
    assert done["Location"] == "/jobs/" and Job.objects.get(pk=job.pk).cancel_asked_at


def test_an_administrator_changes_the_limits_of_several_after_a_preview(bench: Bench, cluster: fake.Cluster) -> None:
    admin, jobs = make_user(site_role=SiteRole.OPERATOR), [waiting(bench, cluster), waiting(bench, cluster)]
    client, english = signed_in(admin), {"Accept-Language": "en"}
    assert 'value="extend"' in client.get("/jobs/?whose=all").content.decode()
    assert 'value="extend"' not in signed_in(bench.user).get("/jobs/").content.decode()
    asked = {"act": "extend", "job": [str(job.pk) for job in jobs]}
    shown = client.post("/jobs/acts", asked, headers=english).content.decode()
    assert shown.count("Its time limit, 60 minutes so far, changes.") == 2 and "New time limit (minutes)" in shown
    for minutes in ("", "0", "-5", "x", "99999999999"):
        wrong = client.post("/jobs/acts", asked | {"sure": "yes", "minutes": minutes}, headers=english)
        assert "Give the new time limit in minutes." in wrong.content.decode() and not Intent.objects.exists()
    client.post("/jobs/acts", asked | {"sure": "yes", "minutes": "90"})
    assert [one.detail for one in Intent.objects.filter(kind=IntentKind.EXTEND)] == [{"minutes": 90}] * 2
    refused = signed_in(bench.user).post("/jobs/acts", asked, headers=english).content.decode()
    assert refused.count("Only a cluster administrator changes a time limit") == 2 and "(minutes)" not in refused


def test_a_limit_of_no_minutes_is_named_over_the_api(bench: Bench, cluster: fake.Cluster) -> None:
    job, caller = waiting(bench, cluster), Caller(issue(make_user(site_role=SiteRole.OPERATOR)))
    for path, asked in ((f"/jobs/{job.pk}/acts", {}), ("/jobs/acts", {"jobs": [str(job.pk)]})):
        answer = caller.post(path, asked | {"act": "extend"})
        assert answer.status_code == 422 and "minutes" in answer.json()["errors"]
    preview = caller.post("/jobs/acts", {"act": "extend", "jobs": [str(job.pk)], "preview": True}).json()
    assert preview["items"][0]["ok"] and not Intent.objects.exists()
    caller.post("/jobs/acts", {"act": "extend", "jobs": [str(job.pk)], "minutes": 30})
    assert Intent.objects.get().detail == {"minutes": 30}
