"""Numbers and lists in every notation Slurm has had."""

import importlib

import pytest

from slurm import adapters
from slurm.adapters import common
from tests.slurm import recordings
from tests.slurm.recordings import Recording


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


@pytest.mark.parametrize("recording", recordings.ALL, ids=recordings.NAMES)
def test_an_array_task_keeps_the_arrays_number(recording: Recording) -> None:
    adapter, job = adapters.load(recording.version), recording.body("running")["jobs"][0]
    task = 0 if recording.is_old else {"set": True, "infinite": False, "number": 0}
    array = 13 if recording.is_old else {"set": True, "infinite": False, "number": 13}
    record = adapter.job_record({**job, "job_id": 15, "array_job_id": array, "array_task_id": task})
    assert (record.job_id, record.array_task) == (13, 0)


@pytest.mark.parametrize("recording", recordings.ALL, ids=recordings.NAMES)
def test_a_guess_is_no_fact(recording: Recording) -> None:
    """The scheduler's estimate for a waiting job, the end that follows from a running one's limit."""
    adapter, job = adapters.load(recording.version), recording.body("held")["jobs"][0]
    guess = 1796170000 if recording.is_old else {"set": True, "infinite": False, "number": 1796170000}
    record = adapter.job_record({**job, "start_time": guess, "end_time": guess})
    assert (record.start_time, record.end_time) == (None, None)
    assert record.expected_start_time is not None


def test_every_version_has_been_recorded() -> None:
    assert sorted(recording.version for recording in recordings.ALL) == sorted(adapters.KNOWN)


def test_each_known_version_offers_the_whole_adapter() -> None:
    wanted = {name for name in vars(adapters.Adapter) if not name.startswith("_")} | {"VERSION"}
    for version in adapters.KNOWN:
        module = importlib.import_module(f"slurm.adapters.{version.replace('.', '_')}")
        assert wanted <= set(vars(module)) and version == module.VERSION
