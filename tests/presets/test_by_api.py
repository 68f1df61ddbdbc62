"""Presets and environments over the API: what is offered, and a job of one with what it refuses."""

from __future__ import annotations

from typing import Any

from access.roles import Role
from accounts.models import User
from jobs.models import Job
from jobs.services import repeating
from presets import services
from tests.api import Caller, caller
from tests.factories import make_member, make_project
from tests.presets.conftest import RULES, SCRIPT, Bench

BODY: dict[str, Any] = {"project": "visao", "name": "treino", "preset": "single"}


def by(user: User) -> Caller:
    return caller(user)


def test_what_is_offered(bench: Bench) -> None:
    retired = bench.preset("old")
    services.retire(preset=retired.preset, by=bench.operator)
    rows = by(bench.member).get("/presets").json()["items"]
    assert {row["name"] for row in rows} == {"single@1", "visao/ours@1"}
    single = next(row for row in rows if row["name"] == "single@1")
    assert single["fields"]["gpus"] == RULES["gpus"] and single["project"] is None
    assert {row["name"] for row in by(bench.other).get("/presets").json()["items"]} == {"single@1"}
    assert by(bench.other).get("/presets?project=visao").status_code == 404
    assert by(bench.member).get("/presets?project=visao").json()["items"][0]["name"] == "visao/ours@1"


def test_a_job_of_a_preset(bench: Bench) -> None:
    answer = by(bench.member).post("/jobs", BODY | {"cpus": 2})
    assert answer.status_code == 201, answer.content
    job = Job.objects.get()
    assert job.script == SCRIPT and job.gpus == 1 and job.cpus == 2 and job.options["preset"] == "single@1"


def test_a_field_out_of_range_is_named_and_nothing_is_made(bench: Bench) -> None:
    answer = by(bench.member).post("/jobs", BODY | {"gpus": 3, "nodes": 2})
    assert answer.status_code == 422 and set(answer.json()["errors"]) == {"gpus", "nodes"}
    assert "1 to 2" in answer.json()["errors"]["gpus"][0]
    unknown = by(bench.member).post("/jobs", BODY | {"preset": "atlas/ours"})
    assert unknown.status_code == 422 and "preset" in unknown.json()["errors"]
    batch = by(bench.member).post("/jobs/batch", {"jobs": [BODY, BODY | {"gpus": 3}]})
    assert batch.status_code == 422 and set(batch.json()["errors"]) == {"jobs.1.gpus"}
    assert not Job.objects.exists()


def test_without_a_preset_the_rest_is_required(bench: Bench) -> None:
    answer = by(bench.member).post("/jobs", {"project": "visao"})
    assert set(answer.json()["errors"]) == {"name", "partition", "script"}


def test_software_is_named_in_its_version_and_must_be_there(bench: Bench) -> None:
    row = bench.software()
    listed = by(bench.member).get("/software").json()["items"]
    assert [(one["name"], one["line"], one["retired_at"]) for one in listed] == [("pytorch@2.5", row.line, None)]
    assert by(bench.member).post("/jobs", BODY | {"software": "pytorch"}).status_code == 201
    assert Job.objects.get().options["software"] == "pytorch@2.5"
    refused = by(bench.member).post("/jobs", BODY | {"software": "pytorch@9"})
    assert refused.status_code == 422 and set(refused.json()["errors"]) == {"software"}
    services.retire_software(software=row, by=bench.operator)
    assert by(bench.member).post("/jobs", BODY | {"software": "pytorch@2.5"}).status_code == 201, "retired ones warn"


def test_a_job_of_a_preset_retired_since_is_run_again(bench: Bench) -> None:
    by(bench.member).post("/jobs", BODY)
    services.retire(preset=bench.site.preset, by=bench.operator)
    again = repeating.again(job=Job.objects.get(), by=bench.member)
    assert again.options["preset"] == "single@1"
    assert by(bench.member).post("/jobs", BODY).status_code == 422


def test_who_only_reads_sees_the_sites(bench: Bench) -> None:
    newcomer = make_member(make_project("novo"), Role.VIEWER)
    assert [row["name"] for row in by(newcomer).get("/presets").json()["items"]] == ["single@1"]
