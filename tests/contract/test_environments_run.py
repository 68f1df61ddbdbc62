"""Environments of a project on the real stack: built by a job without a network, used by jobs, kept, deleted."""

from __future__ import annotations

import json
import os
import secrets
import time
from pathlib import Path
from typing import Any

import pytest

from tests.bench.place import JSON, Place

VAR = os.environ.get("BANCADA_CONTRACT_STACK", "")
pytestmark = [pytest.mark.contract, pytest.mark.timeout(600)]
LONGEST = 180.0  # seconds for one job
BASE = "/api/v1/projects/visao/environments"
FOLDER = "/srv/var/projects/visao"
# a wheel with one module, made by the person in a folder of the project
WHEEL = """
import sys, zipfile
info = "hello_bancada-1.0.dist-info"
with zipfile.ZipFile(sys.argv[1] + "/hello_bancada-1.0-py3-none-any.whl", "w") as file:
    file.writestr("hello_bancada.py", "print('hello from the wheel')")
    file.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: hello-bancada\\nVersion: 1.0\\n")
    file.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nGenerator: us\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    file.writestr(info + "/RECORD", "")
"""


@pytest.fixture(scope="module")
def place() -> Place:
    if not VAR:
        pytest.skip("BANCADA_CONTRACT_STACK names no running stack")
    return Place(Path(VAR).resolve() / "stack.json")


def _post(place: Place, path: str, **body: Any) -> Any:
    answer = place.api("davi").post(path, json.dumps(body).encode(), **JSON)
    assert answer.status in (201, 204), (path, answer.body)
    return answer.json() if answer.body else None


def _until(look: Any) -> Any:
    until = time.monotonic() + LONGEST
    while not (found := look()) and time.monotonic() < until:
        time.sleep(0.5)
    return found


def _built(place: Place, **asked: Any) -> dict[str, Any]:
    """When it is ready, or not built."""
    made = _post(place, BASE, **asked)

    def look() -> Any:
        row = place.api("davi").get(f"{BASE}/{made['id']}").json()
        return row if row["state"] != "building" else None

    found = _until(look)
    assert found, f"{made['name']} is still being built"
    return dict(found)


def _ran(place: Place, **asked: Any) -> dict[str, Any]:
    small = {
        "project": "visao",
        "name": "uses it",
        "partition": "prep",
        "cpus": 1,
        "memory_gb": 1,
        "time_limit_minutes": 5,
    }
    made = _post(place, "/api/v1/jobs", **small, **asked)

    def look() -> Any:
        row = place.api("davi").get(f"/api/v1/jobs/{made['id']}").json()
        return row if row["ended_at"] or row["refusal"] else None

    found = _until(look)
    assert found, "the job is not over in time"
    return dict(found)


def _output(place: Place, job: str) -> str:
    return place.api("davi").get(f"/api/v1/jobs/{job}/log").body.decode(errors="replace")


def test_one_from_a_local_wheel_is_built_used_kept_and_deleted(place: Place) -> None:
    word = secrets.token_hex(4)
    wheels = f"wheels-{word}"
    place.inside_as("davi", "mkdir", f"{FOLDER}/{wheels}")
    place.inside_as("davi", "/usr/bin/python3", "-c", WHEEL, f"{FOLDER}/{wheels}")
    row = _built(place, name=f"own-{word}", text=f"--no-index\n--find-links {wheels}\nhello-bancada\n")
    assert row["state"] == "ready", _output(place, row["job"])
    assert "hello-bancada==1.0" in row["lock"] and row["size"] > 100_000 and row["python"].startswith("3.")

    job = _ran(place, software=row["name"], script="#!/bin/bash -l\npython -c 'import hello_bancada'\n")
    assert "hello from the wheel" in _output(place, job["id"]), job
    other = _ran(place, software=f"own-{word}", script="#!/usr/bin/env python\nimport hello_bancada\n")
    assert "hello from the wheel" in _output(place, other["id"]), other
    lines = {
        one["key"]: one["value"] for one in place.api("davi").get(f"/api/v1/jobs/{job['id']}/manifest").json()["lines"]
    }
    assert lines["environment.lock"] == row["digest"] and lines["locked.hello-bancada"] == "1.0"
    assert lines["package.hello-bancada"] == "1.0"  # as the node saw it at the start

    folder = f"{FOLDER}/{row['folder']}"
    assert place.inside_as("root", "stat", "-c", "%U", folder).strip() == "davi"
    assert place.api("elisa").delete(f"{BASE}/{row['id']}").status == 403
    assert place.api("davi").delete(f"{BASE}/{row['id']}").status == 204
    assert (
        place.inside_as("root", "sh", "-c", f"ls -d {folder} 2>&1 || :").strip().endswith("No such file or directory")
    )
    place.inside_as("davi", "rm", "-r", f"{FOLDER}/{wheels}")


def test_an_empty_one_and_one_that_says_more_than_packages(place: Place) -> None:
    word = secrets.token_hex(4)
    empty = _built(place, name=f"empty-{word}")
    assert empty["state"] == "ready" and "pip==" in empty["lock"], _output(place, empty["job"])
    hostile = f"--no-index\nBANCADA_DATA\ntouch {FOLDER}/owned-{word}\n$(touch {FOLDER}/owned-{word})\n"
    failed = _built(place, name=f"hostile-{word}", text=hostile)
    assert (failed["state"], failed["why"]) == ("failed", "failed")
    assert f"owned-{word}" not in place.inside_as("root", "ls", FOLDER)
    assert f"hostile-{word}" not in place.inside_as("root", "ls", f"{FOLDER}/environments")


def test_without_conda_the_job_says_so(place: Place) -> None:
    if place.inside_as(
        "root", "sh", "-c", "command -v micromamba || command -v mamba || command -v conda || :"
    ).strip():
        pytest.skip("this stack's nodes have conda")
    row = _built(place, name=f"conda-{secrets.token_hex(4)}", kind="conda", text="dependencies: []\n")
    job = place.api("davi").get(f"/api/v1/jobs/{row['job']}").json()
    assert row["state"] == "failed" and job["exit_code"] != 0
    said = _output(place, row["job"])
    assert "neither micromamba nor conda is on this node" in said
