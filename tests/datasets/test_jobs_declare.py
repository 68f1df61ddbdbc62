"""Jobs declare datasets: what they may use they get, what they may not is refused before the queue; outputs keep shut."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import DatabaseError, transaction
from django.utils import timezone

from access.errors import Refused
from access.roles import Role
from audit.actions import Action
from audit.models import AuditEvent
from datasets.models import DatasetUse
from datasets.services import NotPermitted, agreements, asking, registering, terms, versions
from jobs import services, specs
from jobs.forms import like
from jobs.models import Handover, Job, Phase
from jobs.services import data, following, people, reading, repeating, submissions, watching
from quotas.models import Hold
from slurm.contract import JobRecord
from tests.conftest import Roles
from tests.datasets.conftest import Shelf, today
from tests.factories import make_allocation, make_cluster, make_member, make_user

RAW = {"name": "treino", "partition": "gpu", "gpus": 1, "time_limit_minutes": 60, "script": "#!/bin/bash\ntrue\n"}


class Bench(Shelf):
    """The shelf, and a cluster on which the readers' project may submit."""

    def __init__(self) -> None:
        super().__init__()
        make_cluster()
        make_allocation(self.users)

    def submit(self, by: Any = None, key: str | None = None, **changes: Any) -> Job:
        spec, allocation = services.prepare(RAW | changes, project=self.users)
        who = by or self.member
        return services.submit(project=self.users, spec=spec, allocation=allocation, by=who, idempotency_key=key)

    def reasons(self, **changes: Any) -> str:
        with pytest.raises(NotPermitted) as error:
            self.submit(**changes)
        return str(error.value)


@pytest.fixture
def bench(db: None) -> Iterator[Bench]:
    made = Bench()
    made.approved()
    yield made


def test_the_job_gets_the_path_and_the_trail_says_which_version_and_what_for(bench: Bench, roles: Roles) -> None:
    bench.grant()
    roles.use("web")
    job = bench.submit(datasets=["atlas"])
    assert job.datasets == [
        {"code": "atlas", "version": "v1", "path": "/srv/data/atlas/v1", "variable": "DATASET_ATLAS"}
    ]
    event = AuditEvent.objects.get(action=Action.DATASET_DECLARED)
    assert event.said["version"] == "v1" and event.said["job"] == str(job.pk) and event.said["purpose"] == "research"
    assert (event.project_code, event.said["used_in"], event.actor_id) == ("arquivo", "leitores", bench.member.pk)
    use = DatasetUse.objects.get(job=job.pk)
    assert (use.user, use.project, use.job_name) == (bench.member, bench.users, "treino")
    who = people.Identity("membro", 20001, "/home/x", "/bin/bash")
    sent = submissions.submission_of(job, Handover(job=job), who)
    assert sent.environment["DATASET_ATLAS"] == "/srv/data/atlas/v1"


def test_who_may_not_use_it_any_more_does_not_run_the_job_again_and_the_trail_says_so(bench: Bench) -> None:
    grant = bench.grant()
    job = bench.submit(datasets=["atlas"])
    asking.revoke(grant=grant, by=bench.steward, why="It is over.")
    with pytest.raises(repeating.NotAgain):
        repeating.again(job=job, by=bench.member)
    assert Job.objects.count() == 1
    assert AuditEvent.objects.get(action=Action.DATASET_REFUSED).said["datasets"] == ["atlas@v1"]
    assert not AuditEvent.objects.filter(action=Action.JOB_REPEATED).exists()


def test_the_newest_version_unless_one_is_named(bench: Bench) -> None:
    bench.grant()
    versions.add(dataset=bench.dataset, label="v2", path="/srv/data/atlas/v2", by=bench.steward)
    assert [one["version"] for one in bench.submit(datasets=["atlas"]).datasets] == ["v2"]
    assert [one["version"] for one in bench.submit(datasets="atlas@v1").datasets] == ["v1"]
    job = bench.submit(script="#!/bin/bash\n#BANCADA dataset=atlas@v1\ntrue\n")
    assert [one["version"] for one in job.datasets] == ["v1"]
    assert like(job)["datasets"] == "atlas@v1"
    assert "v1, v2" in bench.reasons(datasets=["atlas@v9"]) or "v2, v1" in bench.reasons(datasets=["atlas@v9"])
    versions.withdraw(version=bench.version, by=bench.steward)
    assert "v1" in bench.reasons(datasets=["atlas@v1"])


def test_without_a_permission_it_is_refused_before_the_queue_and_said_whom_to_ask(bench: Bench, roles: Roles) -> None:
    registering.change(dataset=bench.dataset, by=bench.steward, is_listed=True)
    roles.use("web")
    said = bench.reasons(datasets=["atlas"])
    assert "curadora" in said and "atlas" in said
    assert not Job.objects.exists() and not Hold.objects.exists() and not DatasetUse.objects.exists()
    event = AuditEvent.objects.get(action=Action.DATASET_REFUSED)
    assert (event.outcome, event.detail["datasets"], event.actor_id) == ("refused", ["atlas"], bench.member.pk)


def test_what_one_cannot_see_is_like_what_is_not_there(bench: Bench) -> None:
    hidden, absent = bench.reasons(datasets=["atlas"]), bench.reasons(datasets=["atlan"])
    assert hidden.replace("atlas", "") == absent.replace("atlan", "")


@pytest.mark.parametrize("case", ["early", "late", "revoked", "retired", "agreement", "draft"])
def test_each_of_what_a_permission_takes(bench: Bench, case: str) -> None:
    registering.change(dataset=bench.dataset, by=bench.steward, is_listed=True)
    if case == "agreement":
        bench.agreement(ends_on=today(30))
    grant = bench.grant(ends_on=today(20), starts_on=today(5 if case == "early" else 0))
    later = {"late": 21, "agreement": 0}.get(case, 0)
    if case == "revoked":
        asking.revoke(grant=grant, by=bench.steward, why="It is over.")
    if case == "retired":
        registering.retire(dataset=bench.dataset, by=bench.steward)
    if case == "agreement":
        agreements.end(agreement=registering.lock(bench.dataset).agreement, by=bench.owner_pi)  # type: ignore[arg-type]
    if case == "draft":
        bench.dataset = bench.register("fotos")
        assert "fotos" in bench.reasons(datasets=["fotos"], by=bench.pi)
        return
    with time_machine.travel(timezone.now() + timedelta(days=later)):
        assert "atlas" in bench.reasons(datasets=["atlas"])
    assert not Job.objects.exists()


def test_terms_are_accepted_by_each_person_in_the_version_in_force(bench: Bench) -> None:
    bench.grant()
    terms.put_in_force(dataset=bench.dataset, text="Be more careful.", by=bench.steward)
    assert "2" in bench.reasons(datasets=["atlas"])
    terms.accept(dataset=bench.dataset, number=2, by=bench.member)
    bench.submit(datasets=["atlas"])
    assert bench.reasons(datasets=["atlas"], by=bench.pi)
    terms.put_in_force(dataset=bench.dataset, text="Be very careful.", by=bench.steward)
    assert "3" in bench.reasons(datasets=["atlas"])


def test_a_persons_own_permission_counts_in_any_project_of_theirs(bench: Bench) -> None:
    bench.grant(to_person=bench.member)
    bench.submit(datasets=["atlas"])
    assert bench.reasons(datasets=["atlas"], by=bench.pi)


def test_a_purpose_the_agreement_does_not_allow_any_more(bench: Bench) -> None:
    agreement = bench.agreement(purposes=["research", "teaching"])
    bench.grant(purpose="teaching")
    bench.submit(datasets=["atlas"])
    agreements.change(agreement=agreement, by=bench.owner_pi, purposes=["research"])
    assert bench.reasons(datasets=["atlas"])


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"datasets": ["Atlas"]}, "datasets"), ({"datasets": "atlas@"}, "datasets"), ({"datasets": [7]}, "datasets"),
        ({"datasets": "atlas@v1 atlas@v2"}, "datasets"), ({"datasets": [f"d{n}" for n in range(17)]}, "datasets"),
        ({"script": "#!/bin/bash\n#BANCADA datasets=atlas\n"}, "script"),
        ({"script": "#!/bin/bash\n#BANCADA dataset=ATLAS\n"}, "script"), ({"script": "#!/bin/bash\n#BANCADA\n"}, "script"),
        ({"environment": {"DATASET_ATLAS": "/etc"}}, "environment"),
    ],
)  # fmt: skip
def test_what_is_misspelt_declares_nothing_in_silence(bench: Bench, raw: dict[str, Any], field: str) -> None:
    with pytest.raises(specs.BadSpec) as error:
        services.prepare(RAW | raw, project=bench.users)
    assert field in error.value.errors


def test_the_same_key_gives_the_same_job_also_after_the_permission_is_gone(bench: Bench) -> None:
    grant = bench.grant()
    job = bench.submit(datasets=["atlas"], key="k1")
    asking.revoke(grant=grant, by=bench.steward, why="It is over.")
    assert bench.submit(datasets=["atlas"], key="k1") == job
    with pytest.raises(services.KeyReused):
        bench.submit(key="k1")


def test_of_a_batch_none_is_made_and_the_one_to_blame_is_named(bench: Bench) -> None:
    bench.grant()
    project = bench.users
    wanted = services.prepare_all([(RAW | {"datasets": ["atlas"]}, project), (RAW | {"datasets": ["fotos"]}, project)])
    with pytest.raises(NotPermitted) as error:
        services.submit_all(wanted=wanted, by=bench.member)
    assert error.value.place == 1 and not Job.objects.exists() and not DatasetUse.objects.exists()
    made = services.submit_all(wanted=wanted[:1], by=bench.member)
    assert DatasetUse.objects.get().job == made[0].pk


def observed(job: Job, states: set[str], roles: Roles, **facts: Any) -> None:
    """Slurm says this of the job; the follower hears it."""
    now = timezone.now()
    fields = {
        "job_id": 7, "uid": 20001, "user": "membro", "account": "leitores", "name": job.name, "partition": "gpu",
        "states": frozenset(states), "submit_time": now, "start_time": now, "end_time": None,
    }  # fmt: skip
    roles.use("slurm")
    handover = Handover.objects.filter(job=job).select_related("job").get()
    following.observe(handover, record_of(**(fields | facts)))


def record_of(**facts: Any) -> JobRecord:
    """A record with what the rest of the code reads."""
    import dataclasses

    plain: dict[str, Any] = {}
    for field in dataclasses.fields(JobRecord):
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            kind = str(field.type)
            plain[field.name] = None if "None" in kind else 0 if kind.startswith("int") else "" if kind == "str" else ()
    return JobRecord(**(plain | facts))


def accepted(job: Job) -> Handover:
    """As Slurm has taken it."""
    for phase in (Phase.HANDING, Phase.ACCEPTED):
        Job.objects.filter(pk=job.pk).update(phase=phase)
    return Handover.objects.create(
        job=job, cluster=job.cluster, outcome="accepted", slurm_job_id=7, submit_time=timezone.now(), uid=20001,
        accepted_at=timezone.now(), ticket="ticket",
    )  # fmt: skip


def test_use_starts_and_ends_with_the_job_and_the_trail_says_so_once(bench: Bench, roles: Roles) -> None:
    bench.grant()
    job = bench.submit(datasets=["atlas"])
    accepted(job)
    observed(job, {"RUNNING"}, roles)
    observed(job, {"RUNNING", "COMPLETING"}, roles)
    assert AuditEvent.objects.filter(action=Action.DATASET_STARTED).count() == 1
    observed(job, {"COMPLETED"}, roles, end_time=timezone.now())
    use = DatasetUse.objects.get(job=job.pk)
    assert use.started_at is not None and use.ended_at is not None
    event = AuditEvent.objects.get(action=Action.DATASET_ENDED)
    assert event.said["version"] == "v1" and event.said["state"] == "completed" and event.db_role == "slurm"


def test_what_was_declared_is_never_changed(bench: Bench, roles: Roles) -> None:
    bench.grant()
    job = bench.submit(datasets=["atlas"])
    roles.use(None)
    with pytest.raises(DatabaseError), transaction.atomic():
        Job.objects.filter(pk=job.pk).update(datasets=[])
    with pytest.raises(DatabaseError), transaction.atomic():
        DatasetUse.objects.update(purpose="teaching")
    roles.use("slurm")
    with pytest.raises(DatabaseError), transaction.atomic():
        DatasetUse.objects.update(job_name="other")


@pytest.fixture
def secret(db: None) -> Bench:
    """A job of the member on personal data."""
    bench = Bench()
    bench.personal()
    bench.grant()
    terms.accept(dataset=bench.dataset, number=1, by=bench.member)
    return bench


def shut_to(job: Job, user: Any) -> bool:
    try:
        reading.fetch(user, job.pk)
    except Refused:
        return True
    return False


def test_outputs_on_personal_data_need_a_permission_of_the_reader(secret: Bench) -> None:
    job = secret.submit(datasets=["atlas"])
    operator = make_user(site_role="operator")
    assert not shut_to(job, secret.member)
    assert shut_to(job, secret.pi) and shut_to(job, operator)  # the terms; and no permission at all
    terms.accept(dataset=secret.dataset, number=1, by=secret.pi)
    assert not shut_to(job, secret.pi)
    outsider = make_member(secret.users, Role.VIEWER)
    terms.accept(dataset=secret.dataset, number=1, by=operator)
    terms.accept(dataset=secret.dataset, number=1, by=outsider)
    assert shut_to(job, operator) and not shut_to(job, outsider)
    with pytest.raises(Refused) as error:
        reading.fetch(operator, job.pk)
    assert secret.steward.name in error.value.why


def test_revoked_terms_changed_or_reclassified_it_is_shut_at_once(secret: Bench) -> None:
    job = secret.submit(datasets=["atlas"])
    terms.put_in_force(dataset=secret.dataset, text="Be very careful.", by=secret.steward)
    assert shut_to(job, secret.member)
    terms.accept(dataset=secret.dataset, number=2, by=secret.member)
    assert not shut_to(job, secret.member)
    asking.revoke(grant=secret.dataset.grants.get(), by=secret.steward, why="It is over.")
    assert shut_to(job, secret.member)
    [one] = data.read_by(job, secret.member)
    assert not one.holds and not one.may_read
    registering.change(dataset=secret.dataset, by=secret.steward, classification="internal")
    assert not shut_to(job, secret.member)


def test_the_socket_asks_the_same(secret: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    job = secret.submit(datasets=["atlas"])
    monkeypatch.setattr(watching, "person_of", lambda key: {"m": secret.member, "p": secret.pi}[key])
    from access.permissions import Permission

    watching.may("m", job.pk, Permission.LOG_READ)
    with pytest.raises(Refused):
        watching.may("p", job.pk, Permission.LOG_READ)
    watching.may("p", job.pk, Permission.JOB_VIEW)


def test_downloads_can_be_switched_off_for_pages_and_programs(bench: Bench) -> None:
    bench.grant()
    job = bench.submit(datasets=["atlas"])
    reading.fetch_to_take(bench.member, job.pk)
    registering.change(dataset=bench.dataset, by=bench.steward, downloads=False)
    reading.fetch(bench.member, job.pk)
    with pytest.raises(Refused) as error:
        reading.fetch_to_take(bench.member, job.pk)
    assert error.value.why


def test_a_job_without_datasets_asks_nothing_more(bench: Bench, django_assert_num_queries: Any) -> None:
    job = bench.submit()
    with django_assert_num_queries(0):
        data.may_take(job, bench.member)
        data.follow(job)
