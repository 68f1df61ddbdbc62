"""Code from git on the real stack: fetched by the job on its node, kept in its manifest, or said why not."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.bench.place import JSON, Place
from tests.jobs.git_server import repository, serving

VAR = os.environ.get("BANCADA_CONTRACT_STACK", "")
pytestmark = [pytest.mark.contract, pytest.mark.timeout(300)]
LONGEST = 120.0  # seconds for one job
SETTING = "BANCADA_GIT_PREFIXES="


@pytest.fixture(scope="module")
def place() -> Place:
    if not VAR:
        pytest.skip("BANCADA_CONTRACT_STACK names no running stack")
    return Place(Path(VAR).resolve() / "stack.json")


@pytest.fixture(scope="module")
def served(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    """(the address of a repository that the stack allows, its two commits)."""
    settings = json.loads((place.var / "port.json").read_text())["settings"]
    prefix = next((one.removeprefix(SETTING) for one in settings if one.startswith(SETTING)), "")
    if not prefix:
        pytest.skip("this stack has not turned code from git on")
    root = tmp_path_factory.mktemp("git")
    commits = repository(root)
    with serving(root, urlsplit(prefix).port or 0) as address:
        yield f"{address}/code.git", commits


def _until(look: Callable[[], Any]) -> Any:
    until = time.monotonic() + LONGEST
    while not (found := look()) and time.monotonic() < until:
        time.sleep(0.5)
    assert found, "not in time"
    return found


def _ran(place: Place, git: str) -> tuple[dict[str, Any], str]:
    """(the job when it is over, its output)."""
    asked = {
        "project": "visao",
        "name": "code",
        "partition": "prep",
        "cpus": 1,
        "memory_gb": 1,
        "time_limit_minutes": 5,
    }
    body = json.dumps(asked | {"git": git, "script": "#!/bin/bash\npwd\npython3 train.py\n"}).encode()
    api = place.api("davi")
    made = api.post("/api/v1/jobs", body, **JSON)
    assert made.status == 201, made.body
    address = f"/api/v1/jobs/{made.json()['id']}"
    job = _until(lambda: row if (row := api.get(address).json())["ended_at"] else None)
    return job, api.get(f"{address}/log").body.decode(errors="replace")


def test_the_commit_runs_and_is_kept(place: Place, served: tuple[str, list[str]]) -> None:
    address, (first, _second) = served
    job, said = _ran(place, f"{address}@{first}")
    folder = f"/srv/var/projects/visao/runs/git-{job['id']}"
    assert job["state"] == "completed" and said == f"{folder}\nversion 1\n", (job, said)
    assert place.inside_as("root", "stat", "-c", "%U", folder).strip() == "davi"

    def kept() -> Any:
        lines = place.api("davi").get(f"/api/v1/jobs/{job['id']}/manifest").json()["lines"]
        return facts if "code.0.commit" in (facts := {one["key"]: one["value"] for one in lines}) else None

    facts = _until(kept)
    assert facts["option.git"] == f"{address}@{first}"
    assert (facts["code.0.commit"], facts["code.0.folder"]) == (first, folder)
    place.inside_as("davi", "rm", "-r", folder)


def test_a_commit_that_is_not_there_ends_the_job(place: Place, served: tuple[str, list[str]]) -> None:
    address, _commits = served
    job, said = _ran(place, f"{address}@{'0' * 40}")
    assert job["state"] == "failed" and f"git could not fetch {'0' * 40}" in said, (job, said)
    assert "version" not in said


def test_what_the_site_does_not_allow_makes_no_job(place: Place, served: tuple[str, list[str]]) -> None:
    commit = served[1][0]
    for git in (f"ext::sh -c id@{commit}", f"file:///srv/var@{commit}", f"https://elsewhere.example/x.git@{commit}"):
        body = {"project": "visao", "name": "code", "partition": "prep", "script": "#!/bin/bash\ntrue\n", "git": git}
        answer = place.api("davi").post("/api/v1/jobs", json.dumps(body).encode(), **JSON)
        assert answer.status == 422 and list(answer.json()["errors"]) == ["git"], (git, answer.body)
