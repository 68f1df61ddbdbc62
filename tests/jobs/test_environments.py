"""An environment of a project: asked for by one flow, settled by its job's end, named by jobs, kept in their manifest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import ProgrammingError, transaction
from django.utils import timezone, translation

from access.errors import Refused
from access.roles import Role
from audit.actions import Action
from audit.models import AuditEvent
from files.answers import Refused as FileRefused
from jobs import manifest, services
from jobs.models import Handover, Job
from jobs.services import environments, following, handing, reading, recalling, starting
from jobs.specs import BadSpec
from logs.client import ReaderDown
from presets import building
from presets.models import Environment, EnvironmentState
from presets.services import environments as kept
from slurm import fake
from storage.services import changing
from tests.api import caller
from tests.factories import make_member, make_project
from tests.jobs.conftest import RAW, Bench
from tests.jobs.log_door import Door
from tests.pages import signed_in

EN = {"Accept-Language": "en"}
PRINTED = f"Collecting\n{building.BEGIN}\npython 3.11.2\nbytes 7000\nlock numpy==2.1.0\n{building.END}\n"


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    with translation.override("en"):
        yield


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    door = Door(stdout=PRINTED.encode())
    monkeypatch.setattr(reading, "reader", lambda: door)
    return door


def build(bench: Bench, name: str = "torch", **more: Any) -> Environment:
    return environments.build(project=bench.project, name=name, kind="pip", text="numpy\n", by=bench.user, **more)


def finish(bench: Bench, cluster: fake.Cluster, exit_code: int = 0) -> None:
    """All that waits runs to its end."""
    handing.hand_over()
    cluster.tick()
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    cluster.finish(cluster.every_job[-1].job_id, exit_code=exit_code)
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    Handover.objects.update(ticket="signed")
    environments.settle()


def ready(bench: Bench, cluster: fake.Cluster) -> Environment:
    row = build(bench)
    finish(bench, cluster)
    row.refresh_from_db()
    return row


def test_it_is_a_job_of_the_persons(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    row = build(bench)
    job = Job.objects.get(pk=row.job)
    assert job.owner == bench.user and job.gpus == 0 and job.name == "environment torch-1"
    assert job.allocation == bench.allocation and "base64 -d" in job.script and row.state is EnvironmentState.BUILDING
    assert environments.settle() == 0
    finish(bench, cluster)
    row.refresh_from_db()
    assert row.state is EnvironmentState.READY and row.lock == "numpy==2.1.0\n" and row.size == 7000
    assert row.packages == [("numpy", "2.1.0")] and row.found_python == "3.11.2" and len(row.digest) == 64
    assert [*AuditEvent.objects.filter(action__startswith="environment.").order_by("at").values_list("action", flat=True)] == [
        Action.ENVIRONMENT_ASKED, Action.ENVIRONMENT_BUILT,
    ]  # fmt: skip


def test_a_job_that_failed_or_printed_nothing_builds_nothing(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    first = build(bench)
    finish(bench, cluster, exit_code=1)
    door.files["stdout"] = b"pip\n"
    second = build(bench)
    finish(bench, cluster)
    for row, why in ((first, "failed"), (second, "unread")):
        row.refresh_from_db()
        assert (row.state, row.why) == (EnvironmentState.FAILED, why)
    assert second.number == 2
    with pytest.raises(BadSpec) as bad:
        services.prepare(RAW | {"software": "torch"}, project=bench.project)
    assert set(bad.value.errors) == {"software"}


def test_without_the_log_reader_it_waits(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    row = build(bench)
    door.trouble = ReaderDown("away")
    finish(bench, cluster)
    row.refresh_from_db()
    assert row.state is EnvironmentState.BUILDING
    door.trouble = None
    assert environments.settle() == 1 and environments.settle() == 0


@pytest.mark.parametrize(
    ("name", "kind", "text", "python", "field"),
    [
        ("A", "pip", "", "", "name"), ("x", "pip", "", "", "name"), ("a" * 32, "pip", "", "", "name"),
        ("a b", "pip", "", "", "name"), ("../x", "pip", "", "", "name"), ("a\n", "pip", "", "", "name"),
        ("ok", "rpm", "", "", "kind"), ("ok", "pip", "", "3; id", "python"), ("ok", "pip", "a\0b", "", "text"),
        ("ok", "pip", "é" * 40_000, "", "text"), ("ok", "conda", " \n", "", "text"), ("ok", "conda", "x", "3.11", "text"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named_and_nothing_is_made(
    bench: Bench, name: str, kind: str, text: str, python: str, field: str
) -> None:
    with pytest.raises(BadSpec) as bad:
        environments.build(project=bench.project, name=name, kind=kind, text=text, python=python, by=bench.user)
    assert set(bad.value.errors) == {field}
    assert not Job.objects.exists() and not Environment.objects.exists()


def test_one_of_a_name_at_a_time(bench: Bench) -> None:
    build(bench)
    with pytest.raises(services.NotNow, match="torch@1"):
        build(bench)
    assert Job.objects.count() == 1 and build(bench, "other").number == 1


def test_a_job_that_names_it_runs_with_it_and_its_manifest_keeps_the_lock(
    bench: Bench, cluster: fake.Cluster, door: Door
) -> None:
    row = ready(bench, cluster)
    job = bench.submit(software="torch")
    assert job.options["software"] == row.title == f"{bench.project.code}/torch@1"
    python = bench.submit(software=row.title, script="#!/usr/bin/env python3\nprint(1)\n")
    handing.hand_over()
    shell, other = cluster.every_job[-2:]
    assert f"export VIRTUAL_ENV={row.path} PATH={row.path}/bin:" in shell.asked.script.splitlines()[1]
    assert other.asked.environment["VIRTUAL_ENV"] == row.path
    assert other.asked.environment["PATH"].startswith(f"{row.path}/bin:")
    lines = {line.key: line.value for line in recalling.told(job).lines}
    assert lines["environment.lock"] == row.digest and lines["locked.numpy"] == "2.1.0"
    before = recalling.told(python).lines
    row.lock, row.digest = "numpy==2.2.0\n", "c" * 64
    after = manifest.lines(job, [], {}, row)
    pairs = {pair.label: pair for pair in manifest.compare(before, after)}
    assert (pairs["numpy"].first, pairs["numpy"].second, pairs["numpy"].same) == ("2.1.0", "2.2.0", False)


def test_another_projects_is_one_that_is_not_there(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    row = ready(bench, cluster)
    other = make_project("atlas")
    assert kept.of_project(other, row.title) is None and kept.of_project(other, "torch") is None
    assert kept.of_project(bench.project, "torch@x") is None and kept.of_project(bench.project, "a\0") is None
    assert kept.of_project(bench.project, row.title) == row
    assert [one.title for one in kept.offered_software(bench.project)] == [row.title]
    assert list(kept.offered_software(other)) == []


def test_a_retired_one_warns_and_is_offered_again(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    row = ready(bench, cluster)
    kept.retire(environment=row, by=bench.user)
    assert kept.of_project(bench.project, "torch") is None and kept.of_project(bench.project, "torch@1") == row
    assert "retired" in starting.warnings(row.title)[0]
    kept.offer_again(environment=row, by=bench.user)
    assert starting.warnings(row.title) == [] and kept.of_project(bench.project, "torch") == row


def test_only_who_built_it_or_answers_for_presets_retires_it(bench: Bench) -> None:
    row = build(bench)
    mate, manager = make_member(bench.project), make_member(bench.project, Role.MANAGER)
    with pytest.raises(Refused):
        environments.may_retire(row, by=mate)
    environments.may_retire(row, by=manager)
    environments.may_retire(row, by=bench.user)


def test_files_go_by_their_owner_and_the_lock_stays(
    bench: Bench, cluster: fake.Cluster, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(changing, "delete", lambda **facts: asked.append(facts))
    row = build(bench)
    with pytest.raises(services.NotNow, match="being built"):
        environments.delete(environment=row, by=bench.user)
    finish(bench, cluster)
    row.refresh_from_db()
    with pytest.raises(Refused):
        environments.delete(environment=row, by=make_member(bench.project, Role.PI))
    job = bench.submit(software="torch")
    with pytest.raises(services.NotNow, match="have not ended"):
        environments.delete(environment=row, by=bench.user)
    assert not asked
    finish(bench, cluster)
    environments.delete(environment=row, by=bench.user)
    assert [(one["path"], one["whole"], one["by"]) for one in asked] == [("environments/torch-1", True, bench.user)]
    row.refresh_from_db()
    assert row.state is EnvironmentState.DELETED and kept.of_project(bench.project, "torch@1") is None
    assert "locked.numpy" in {line.key for line in recalling.told(job).lines}


def test_files_that_are_gone_already_are_gone(bench: Bench, cluster: fake.Cluster, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    def away(**_: Any) -> None:
        raise FileRefused("missing")

    row = ready(bench, cluster)
    monkeypatch.setattr(changing, "delete", away)
    environments.delete(environment=row, by=bench.user)
    row.refresh_from_db()
    assert row.state is EnvironmentState.DELETED


@pytest.mark.parametrize("change", [{"text": "x"}, {"number": 9}, {"lock": "x"}, {"digest": "d" * 64}])
def test_what_was_built_is_never_changed(
    bench: Bench, cluster: fake.Cluster, door: Door, change: dict[str, Any]
) -> None:
    row = ready(bench, cluster)
    with pytest.raises(ProgrammingError, match="pgtrigger"), transaction.atomic():
        Environment.objects.filter(pk=row.pk).update(**change)
    with pytest.raises(ProgrammingError, match="pgtrigger"), transaction.atomic():
        Environment.objects.filter(pk=row.pk).delete()


def test_the_pages(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    client, base = signed_in(bench.user), f"/projects/{bench.project.code}/environments"
    assert "No environment yet" in client.get(base, headers=EN).content.decode()
    bad = client.post(f"{base}/new", {"name": "A", "kind": "pip"}, headers=EN)
    assert bad.status_code == 422 and "Begin with a lower-case letter" in bad.content.decode()
    made = client.post(f"{base}/new", {"name": "torch", "kind": "pip", "text": "numpy\r\n<b>"}, headers=EN)
    row = Environment.objects.get()
    assert made.status_code == 302 and made.headers["Location"] == f"{base}/{row.pk}" and row.text == "numpy\n<b>"
    assert "being built" in client.get(base, headers=EN).content.decode()
    finish(bench, cluster)
    page = client.get(f"{base}/{row.pk}", headers=EN).content.decode()
    assert "2.1.0" in page and "&lt;b&gt;" in page and "<b>\n" not in page
    assert f"software={row.title}" in page and "Delete its files" in page
    assert client.post(f"{base}/{row.pk}/rebuild").status_code == 302
    assert Environment.objects.filter(name="torch", number=2, text=row.text).exists()
    form = client.get(f"/jobs/new?project={bench.project.code}&software={row.title}", headers=EN).content.decode()
    assert f'value="{row.title}"' in form


def test_the_api(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    api, base = caller(bench.user), f"/projects/{bench.project.code}/environments"
    made = api.post(base, {"name": "torch", "text": "numpy\n"})
    assert made.status_code == 201 and made.json()["state"] == "building"
    assert api.post(base, {"name": "torch"}).status_code == 422
    finish(bench, cluster)
    one = api.get(f"{base}/{made.json()['id']}").json()
    assert one["state"] == "ready" and one["lock"] == "numpy==2.1.0\n" and one["text"] == "numpy\n"
    assert (
        one["name"] == f"{bench.project.code}/torch@1" and api.get(base).json()["items"][0]["digest"] == one["digest"]
    )
    assert api.post(f"{base}/{one['id']}/retire").status_code == 204
    assert Environment.objects.get().retired_at <= timezone.now()  # type: ignore[operator]
    assert api.post(f"{base}/{one['id']}/offer").status_code == 204


def test_its_pages_ask_little(
    bench: Bench, cluster: fake.Cluster, door: Door, django_assert_max_num_queries: Any
) -> None:
    row = ready(bench, cluster)
    client, base = signed_in(bench.user), f"/projects/{bench.project.code}/environments"
    for address in (base, f"{base}/{row.pk}", f"{base}/new", f"/jobs/new?project={bench.project.code}"):
        client.get(address)
        with django_assert_max_num_queries(8):
            assert client.get(address).status_code == 200
