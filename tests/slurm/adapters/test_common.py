"""Numbers and lists in every notation Slurm has had."""

import importlib
import json
from pathlib import Path

import pytest

from slurm import adapters
from slurm.adapters import common

RECORDED = Path(__file__).parents[1] / "recorded"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5),
        (0, 0),
        (None, None),
        (-1, None),
        (4294967295, None),
        (4294967294, None),
        ({"set": True, "infinite": False, "number": 5}, 5),
        ({"set": False, "infinite": False, "number": 0}, None),
        ({"set": True, "infinite": True, "number": 0}, None),
        ({}, None),
    ],
)
def test_number(value: object, expected: int | None) -> None:
    assert common.number(value) == expected


def test_states_as_a_word_or_a_list() -> None:
    assert common.words("idle") == {"IDLE"}
    assert common.words(["RUNNING", "COMPLETING"]) == {"RUNNING", "COMPLETING"}
    assert common.words(None) == frozenset()


@pytest.mark.parametrize("version", adapters.KNOWN)
def test_an_array_task_keeps_the_arrays_number(version: str) -> None:
    adapter = adapters.load(version)
    job = json.loads((RECORDED / f"{version.replace('.', '_')}.json").read_text())["running"]["body"]["jobs"][0]
    task = {"set": True, "infinite": False, "number": 0} if version == "v0.0.42" else 0
    array = {"set": True, "infinite": False, "number": 13} if version == "v0.0.42" else 13
    record = adapter.job_record({**job, "job_id": 15, "array_job_id": array, "array_task_id": task})
    assert (record.job_id, record.array_task) == (13, 0)


@pytest.mark.parametrize("version", adapters.KNOWN)
def test_a_guess_is_no_fact(version: str) -> None:
    """The scheduler's estimate for a waiting job, the end that follows from a running one's limit."""
    adapter = adapters.load(version)
    job = json.loads((RECORDED / f"{version.replace('.', '_')}.json").read_text())["held"]["body"]["jobs"][0]
    guess = {"set": True, "infinite": False, "number": 1796170000} if version == "v0.0.42" else 1796170000
    record = adapter.job_record({**job, "start_time": guess, "end_time": guess})
    assert (record.start_time, record.end_time) == (None, None)
    assert record.expected_start_time is not None


def test_a_job_killed_by_a_signal() -> None:
    old, new = adapters.load("v0.0.38"), adapters.load("v0.0.42")
    for adapter, status in (
        (old, 9),
        (new, {"status": ["SIGNALED"], "signal": {"id": {"set": True, "number": 9}, "name": "KILL"}}),
    ):
        path = RECORDED / f"{adapter.VERSION.replace('.', '_')}.json"
        job = json.loads(path.read_text())["over"]["body"]["jobs"][0]
        record = adapter.job_record({**job, "exit_code": status})
        assert (record.exit_code, record.exit_signal) == (None, 9)


def test_each_known_version_offers_the_whole_adapter() -> None:
    wanted = {name for name in vars(adapters.Adapter) if not name.startswith("_")} | {"VERSION"}
    for version in adapters.KNOWN:
        module = importlib.import_module(f"slurm.adapters.{version.replace('.', '_')}")
        assert wanted <= set(vars(module)) and version == module.VERSION
