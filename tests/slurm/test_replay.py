"""What each release of Slurm really answered to a whole job, an array and every option, read again on every run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from jobs.services.submissions import differences
from slurm import adapters, bulk, used
from slurm.commands import Commands
from slurm.contract import JobRecord
from slurm.tokens import Token
from tests.slurm import recordings
from tests.slurm.recordings import ASKED, Recording

TOKEN = Token("bancada-read", time.time() + 60, "t")
SINCE = datetime(2026, 1, 1, tzinfo=UTC)
DAVI = 20004


class Printing(Commands):
    """Prints one recorded answer."""

    def read(self, token: Token, program: str, *args: str) -> str:
        return self.folder


def printing(text: str) -> Commands:
    return Printing("/conf", 1.0, folder=text)


@pytest.fixture(params=recordings.ALL, ids=recordings.NAMES)
def recording(request: pytest.FixtureRequest) -> Recording:
    return request.param


def jobs(recording: Recording, name: str, **changes: Any) -> list[JobRecord]:
    adapter = adapters.load(recording.version)
    return [adapter.job_record({**job, **changes}) for job in recording.body(name)["jobs"]]


def test_a_job_is_what_was_asked_for(recording: Recording) -> None:
    assert differences(ASKED, jobs(recording, "held")[0], DAVI) == []


def test_every_option_is_what_was_asked_for(recording: Recording) -> None:
    (record,) = jobs(recording, "whole_held")
    (after,) = record.dependencies
    asked = recordings.whole(int(after.partition(":")[2]))
    assert differences(asked, record, DAVI) == []
    assert (record.job_id, record.array_task, record.array) == (recording.whole_id, None, "1-4%2")
    assert (record.constraint, record.reservation) == ("fast", "recorded")
    assert record.eligible_time is None or abs((record.eligible_time - asked.begin).total_seconds()) < 120  # type: ignore[operator]


def test_tasks_of_an_array(recording: Recording) -> None:
    records = jobs(recording, "array")
    assert sorted(record.array_task for record in records) == [0, 1]  # type: ignore[type-var]
    assert len({record.job_id for record in records}) == 1
    assert {record.states for record in records} == {frozenset({"RUNNING"})}
    assert all(record.gpus == 2 and record.nodes for record in records)


def test_a_signal_ended_it(recording: Recording) -> None:
    (record,) = jobs(recording, "killed")
    assert (record.states, record.exit_code, record.exit_signal) == ({"CANCELLED"}, None, 15)


def test_the_queues_text_agrees_with_the_jobs_json(recording: Recording) -> None:
    (row,) = bulk.queue(printing(recording.said["squeue"]), TOKEN)
    (record,) = jobs(recording, "running")
    for field in (
        "job_id", "array_task", "submit_time", "uid", "user", "states", "account", "partition", "qos", "reason",
        "start_time", "end_time", "eligible_time", "time_limit_minutes", "restart_count", "nodes", "node_count", "cpus",
        "memory_mb", "gpus", "gpu_types", "exit_code", "exit_signal",
    ):  # fmt: skip
        assert getattr(row, field) == getattr(record, field), field


def test_accounting(recording: Recording) -> None:
    (row,) = bulk.accounting(printing(recording.said["sacct"]), TOKEN, since=SINCE, job_ids=[recording.job_id])
    (over,) = jobs(recording, "over")
    assert (row.job_id, row.uid, row.states, row.exit_code) == (recording.job_id, DAVI, {"FAILED"}, 3)
    assert (row.submit_time, row.start_time, row.end_time) == (over.submit_time, over.start_time, over.end_time)
    assert (row.gpus, dict(row.gpu_types), row.memory_mb) == (4, {"a100": 4}, 3072)
    (spent,) = used.read(printing(recording.said["used"]), TOKEN, since=SINCE, job_ids=[recording.job_id])
    assert spent.cpu_seconds is not None and spent.job_id == recording.job_id


# --- what a later patch release may do to them ---------------------------------------------------------------------

STRANGE: list[Any] = [None, [], {}, "", "more", 2**63 - 1, 2**64 - 1, -(2**63), {"set": True, "number": 2**63 - 1}]


@pytest.mark.parametrize("value", STRANGE, ids=repr)
def test_a_field_nobody_knows_changes_nothing(recording: Recording, value: Any) -> None:
    assert jobs(recording, "over", brand_new=value) == jobs(recording, "over")
    adapter, nodes = adapters.load(recording.version), recording.body("nodes")["nodes"]
    assert [adapter.node_record({**one, "x": value}) for one in nodes] == [adapter.node_record(one) for one in nodes]


def test_what_may_be_missing_or_null_is_survived(recording: Recording) -> None:
    """One field at a time, of all it answered; a job without number, owner, state or submit time is no job."""
    needed = {"job_id", "user_id", "job_state", "submit_time"}
    (whole,) = recording.body("over")["jobs"]
    adapter = adapters.load(recording.version)
    for name in whole.keys() - needed:
        without = {key: value for key, value in whole.items() if key != name}
        for odd in ({**whole, name: None}, without):
            assert adapter.job_record(odd).job_id == recording.job_id, name


def numbers(recording: Recording, value: int) -> Iterator[Any]:
    yield value if recording.is_old else {"set": True, "infinite": False, "number": value}
    if not recording.is_old:
        yield value


@pytest.mark.parametrize("value", [2**31, 2**53 + 1, 2**63 - 1])
def test_64_bits_stay_64_bits(recording: Recording, value: int) -> None:
    for said in numbers(recording, value):
        (record,) = jobs(recording, "over", time_limit=json.loads(json.dumps(said)))
        assert record.time_limit_minutes == value


@pytest.mark.parametrize("mark", [{"set": False, "infinite": False, "number": 7}, {"set": True, "infinite": True}, {}])
def test_unset_and_infinite_are_not_numbers(recording: Recording, mark: dict[str, Any]) -> None:
    (record,) = jobs(recording, "over", time_limit=mark)
    assert record.time_limit_minutes is None


@pytest.mark.parametrize("word", ["BRAND_NEW", "", "EXPEDITING", "COMPLETE"])
def test_an_unknown_state_is_unknown_and_not_over(recording: Recording, word: str) -> None:
    from jobs.states import State, from_slurm, is_over

    for said in (word, [word]):
        (record,) = jobs(recording, "over", job_state=said)
        assert from_slurm(record.states) is not State.COMPLETED and not is_over(record.states)
        assert (record.end_time, record.exit_code, record.exit_signal) == (None, None, None)
    (row,) = bulk.queue(printing(recording.said["squeue"].replace("RUNNING", word or "?")), TOKEN)
    assert from_slurm(row.states) is not State.COMPLETED and row.end_time is None
