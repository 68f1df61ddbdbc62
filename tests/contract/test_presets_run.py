"""Each preset that comes with the portal, asked for by its name and nothing else, runs to its end on a real stack."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from presets import delivering
from tests.bench.place import JSON, Place

VAR = os.environ.get("BANCADA_CONTRACT_STACK", "")
pytestmark = [pytest.mark.contract, pytest.mark.timeout(600)]
# the demo's nodes are small, and shared with the other tests
SHORT = {"EPOCHS": "3", "STOP_AFTER": "2", "SHARDS": "3"}
SMALL: dict[str, dict[str, Any]] = {
    "multi-gpu": {"cpus": 2},
    "preprocess": {"partition": "prep"},
    "sweep": {"gpus": 0, "partition": "prep"},
}
LONGEST = 300.0  # seconds for all of them together
CONTINUE, SWEEP = "checkpoint-continue", "sweep"
CODES = [one.code for one in delivering.read()]


@pytest.fixture(scope="module")
def place() -> Place:
    if not VAR:
        pytest.skip("BANCADA_CONTRACT_STACK names no running stack")
    return Place(Path(VAR).resolve() / "stack.json")


@pytest.fixture(scope="module")
def ran(place: Place) -> Iterator[dict[str, dict[str, Any]]]:
    """Asked for all at once and waited for once: code -> the job when it is over."""
    jobs = {code: _submit(place, code) for code in CODES}
    rows, until = dict[str, dict[str, Any]](), time.monotonic() + LONGEST
    while len(rows) < len(jobs) and time.monotonic() < until:
        for code, job in jobs.items():
            row = place.api("davi").get(f"/api/v1/jobs/{job}").json()
            if row["ended_at"] or row["refusal"]:
                rows[code] = row
            elif code == CONTINUE and row["reason"] == "BeginTime":
                _start_now(place, row["slurm_job_id"])
        time.sleep(1)
    yield rows | {code: {"id": job, "state": "not over in time"} for code, job in jobs.items() if code not in rows}
    for code in set(jobs) - set(rows):
        place.api("davi").post(f"/api/v1/jobs/{jobs[code]}/cancel", b"")


def _submit(place: Place, code: str) -> str:
    body = {"project": "visao", "preset": code, "partition": "gpu", "cpus": 1, "memory_gb": 1,
            "time_limit_minutes": 5, "environment": SHORT} | SMALL.get(code, {})  # fmt: skip
    answer = place.api("davi").post("/api/v1/jobs", json.dumps(body).encode(), **JSON)
    assert answer.status == 201, (code, answer.body)
    return str(answer.json()["id"])


def _start_now(place: Place, number: int) -> None:
    """Slurm lets a requeued job wait for two minutes, whatever there is to do."""
    place.inside_as("root", "sh", "-c", f"scontrol update JobId={number} StartTime=now || :")


def output(place: Place, job: str) -> str:
    return place.api("davi").get(f"/api/v1/jobs/{job}/log").body.decode(errors="replace")


@pytest.mark.parametrize("code", CODES)
def test_it_runs_to_completion(place: Place, ran: dict[str, dict[str, Any]], code: str) -> None:
    row = ran[code]
    said = output(place, row["id"])
    assert row["state"] == "completed", (row, said[-3000:])
    if code == SWEEP:
        return
    steps = [json.loads(line)["step"] for line in said.splitlines() if line.startswith('{"step"')]
    assert steps and steps == sorted(set(steps)), said[-3000:]
    if code == CONTINUE:  # the output begins anew with each run
        assert "goes on behind epoch 2" in said and steps[0] == 3
    if code in ("multi-gpu", "multi-node"):
        assert '"ranks": 2.0' in said


def test_each_task_of_the_sweep_had_its_own_row(place: Place, ran: dict[str, dict[str, Any]]) -> None:
    number = ran[SWEEP]["slurm_job_id"]
    for task, (rate, hidden) in enumerate([("0.05", 24), ("0.05", 48), ("0.2", 24), ("0.2", 48), ("0.8", 24)]):
        path = f"/srv/var/projects/visao/logs/{ran[SWEEP]['id']}-{number}_{task}.out"
        said = place.inside_as("root", "cat", path)
        assert f"done: seed 7, rate {rate}, hidden {hidden}" in said
