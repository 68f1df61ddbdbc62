"""The bulk reads: lines as squeue and sacct print them, and lines nobody may believe."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from slurm import bulk
from slurm.commands import Commands
from slurm.contract import Unanswered
from slurm.tokens import Token

TOKEN = Token("bancada-read", time.time() + 60, "t")
S = bulk.SEPARATOR
NOW = datetime.now(UTC).replace(microsecond=0)
TRES = "cpu=2,mem=1.50G,node=1,billing=2,gres/gpu=1,gres/gpu:a100=1"


@dataclasses.dataclass(frozen=True)
class Printing(Commands):
    """Prints what it is told, in turn; keeps what it was asked."""

    said: list[str] = dataclasses.field(default_factory=list)
    asked: list[tuple[str, ...]] = dataclasses.field(default_factory=list)

    def read(self, token: Token, program: str, *args: str) -> str:
        self.asked.append((program, *args))
        return self.said.pop(0)


def printing(*said: str) -> Printing:
    return Printing("/conf", 1, said=list(said))


def queue_line(**changes: str) -> str:
    row = {
        "JobID": "15", "ArrayJobID": "15", "ArrayTaskID": "N/A", "UserID": "20004", "UserName": "davi", "Account": "visao",
        "Partition": "gpu", "QOS": "q", "State": "RUNNING", "SubmitTime": "1796170168", "StartTime": "1796170169",
        "EndTime": "1796170469", "EligibleTime": "1796170168", "TimeLimit": "5:00", "RestartCnt": "0", "NodeList": "gpu01",
        "tres-alloc": TRES, "exit_code": "0", "Reason": "None",
    }  # fmt: skip
    return S.join({**row, **changes}.values()) + "\n"


def sacct_line(**changes: str) -> str:
    row = {
        "JobID": "15", "JobIDRaw": "15", "UID": "20004", "User": "davi", "Account": "visao", "Partition": "gpu", "QOS": "q",
        "State": "FAILED", "Submit": "1796170168", "Start": "1796170169", "End": "1796170174", "Eligible": "1796170168",
        "TimelimitRaw": "5", "NodeList": "gpu01", "AllocTRES": TRES, "ReqTRES": TRES, "ExitCode": "3:0", "Reason": "None",
    }  # fmt: skip
    return S.join({**row, **changes}.values()) + "\n"


def test_a_running_job() -> None:
    (job,) = bulk.queue(printing(queue_line()), TOKEN)
    assert (job.job_id, job.array_task, job.uid, job.user, job.account) == (15, None, 20004, "davi", "visao")
    assert (job.states, job.reason, job.nodes, job.time_limit_minutes) == ({"RUNNING"}, "", "gpu01", 5)
    assert (job.cpus, job.memory_mb, job.gpus, dict(job.gpu_types)) == (2, 1536, 1, {"a100": 1})
    assert job.submit_time == datetime.fromtimestamp(1796170168, UTC)
    assert (job.end_time, job.exit_code, job.exit_signal) == (None, None, None)


def test_a_waiting_job_and_a_reason_with_spaces() -> None:
    line = queue_line(
        State="PENDING", NodeList="", EndTime="N/A", Reason="ReqNodeNotAvail, UnavailableNodes:gpu[01-02]"
    )
    (job,) = bulk.queue(printing(line), TOKEN)
    assert job.reason == "ReqNodeNotAvail, UnavailableNodes:gpu[01-02]"
    assert job.start_time is None and job.expected_start_time is not None


def test_an_array_task_before_and_after_it_has_a_number() -> None:
    lines = queue_line(JobID="13", ArrayJobID="13", ArrayTaskID="4") + queue_line(ArrayJobID="13", ArrayTaskID="0")
    assert [(job.job_id, job.array_task) for job in bulk.queue(printing(lines), TOKEN)] == [(13, 4), (13, 0)]


@pytest.mark.parametrize(
    ("status", "expected"), [("768", (3, None)), ("3:0", (3, None)), ("15", (None, 15)), ("0:15", (None, 15))]
)
def test_exit_codes_of_both_releases(status: str, expected: tuple[int | None, int | None]) -> None:
    (job,) = bulk.queue(printing(queue_line(State="FAILED", exit_code=status)), TOKEN)
    assert (job.exit_code, job.exit_signal) == expected


def test_nothing_is_asked_that_can_hold_free_text() -> None:
    commands = printing("", "")
    bulk.queue(commands, TOKEN)
    bulk.accounting(commands, TOKEN, since=NOW)
    said = " ".join(word for asked in commands.asked for word in asked).lower()
    for field in (
        "name:",
        "jobname",
        "comment",
        "command",
        "workdir",
        "stdout",
        "tres-per",
        "gres:",
        "feature",
        "licenses",
        "submitline",
    ):
        assert field not in said.replace("username:", ""), field


def test_a_line_of_another_shape_spoils_the_answer() -> None:
    for lines in (
        queue_line() + "slurm_load_jobs: something\n",
        queue_line(Account=f"x{S}y"),
        queue_line(JobID="1")[:-20],
        queue_line(ArrayJobID="x"),
        queue_line(SubmitTime="N/A"),
        queue_line(State="FAILED", exit_code="x"),
        queue_line(Reason="None\n999"),
    ):
        with pytest.raises(Unanswered):
            bulk.queue(printing(lines), TOKEN)


@given(some.text())
def test_whatever_is_printed_is_read_or_disbelieved(printed: str) -> None:
    for read in (
        lambda: bulk.queue(printing(printed), TOKEN),
        lambda: bulk.accounting(printing(printed), TOKEN, since=NOW),
    ):
        with contextlib.suppress(Unanswered):
            assert all(job.uid >= 0 for job in read())


def test_accounting() -> None:
    (job,) = bulk.accounting(printing(sacct_line()), TOKEN, since=NOW)
    assert (job.states, job.exit_code, job.time_limit_minutes, job.gpus) == ({"FAILED"}, 3, 5, 1)
    assert job.from_accounting and job.end_time == datetime.fromtimestamp(1796170174, UTC)


def test_cancelled_by_somebody_before_it_ran() -> None:
    line = sacct_line(State="CANCELLED by 70101", NodeList="None assigned", AllocTRES="", Start="None", ExitCode="0:0")
    (job,) = bulk.accounting(printing(line), TOKEN, since=NOW)
    assert (job.states, job.nodes, job.start_time, job.gpus) == ({"CANCELLED"}, "", None, 1)


def test_arrays_and_het_jobs() -> None:
    lines = (
        sacct_line(JobID="13_4", JobIDRaw="16")
        + sacct_line(JobID="13_[5-7%1]", JobIDRaw="13")
        + sacct_line(JobID="20+1", JobIDRaw="21")
    )
    found = bulk.accounting(printing(lines), TOKEN, since=NOW)
    assert [(job.job_id, job.array_task) for job in found] == [(13, 4), (13, None), (21, None)]


def test_runs_of_one_job_are_counted() -> None:
    lines = (
        sacct_line(State="RUNNING", Submit="1796170300", End="Unknown")
        + sacct_line(State="REQUEUED", Submit="1796170168")
        + sacct_line(State="NODE_FAIL", Submit="1796170200")
        + sacct_line(UID="20005", Submit="1796170400")
    )
    found = bulk.accounting(printing(lines), TOKEN, since=NOW)
    assert [(job.uid, job.restart_count) for job in found] == [(20004, 0), (20004, 1), (20004, 2), (20005, 0)]


def test_a_number_that_came_back_is_no_second_run() -> None:
    lines = sacct_line(State="COMPLETED") + sacct_line(State="COMPLETED", Submit="1796270168")
    assert [job.restart_count for job in bulk.accounting(printing(lines), TOKEN, since=NOW)] == [0, 0]


def test_a_half_written_row_is_left_out_or_is_no_answer() -> None:
    half = sacct_line(UID="0", Partition="", QOS="Unknown", Eligible="Unknown", TimelimitRaw="")
    whole = sacct_line(JobID="16", JobIDRaw="16")
    assert [job.job_id for job in bulk.accounting(printing(half + whole), TOKEN, since=NOW)] == [16]
    for only in ({"job_ids": [15]}, {"account": "visao"}):
        with pytest.raises(Unanswered):
            bulk.accounting(printing(half + whole), TOKEN, since=NOW, **only)


def test_many_ids_go_in_several_calls() -> None:
    commands = printing("", "", "")
    bulk.accounting(commands, TOKEN, since=NOW, job_ids=[*range(5000), 7])
    assert len(commands.asked) == 3
    sent = [word.removeprefix("--jobs=").split(",") for asked in commands.asked for word in asked if "--jobs" in word]
    assert sorted(int(number) for chunk in sent for number in chunk) == list(range(5000))


def test_the_window_is_utc_and_ends_after_now() -> None:
    commands = printing("")
    bulk.accounting(commands, TOKEN, since=datetime(2026, 12, 2, 3, 0, tzinfo=UTC).astimezone())
    asked = commands.asked[0]
    assert "--starttime=2026-12-02T03:00:00" in asked and "--duplicates" in asked and "--allusers" in asked
    (end,) = (word.removeprefix("--endtime=") for word in asked if word.startswith("--endtime="))
    assert datetime.fromisoformat(end).replace(tzinfo=UTC) > datetime.now(UTC) + timedelta(hours=1)
