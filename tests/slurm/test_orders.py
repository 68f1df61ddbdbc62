"""Orders in the words of scontrol and scancel, and what cannot be one."""

from __future__ import annotations

import subprocess
import time
from typing import Any

import pytest

from slurm.commands import Commands
from slurm.contract import Refused, Unanswered, Unreachable
from slurm.orders import Order, Verb
from slurm.tokens import Token

TOKEN = Token("davi", time.time() + 60, "t")


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (Order(Verb.REQUEUE, 7), "scontrol requeue 7"),
        (Order(Verb.RELEASE, 7), "scontrol release 7"),
        (Order(Verb.LIMIT, 7, 90), "scontrol update JobId=7 TimeLimit=90"),
        (Order(Verb.AT_ONCE, 7, 4), "scontrol update JobId=7 ArrayTaskThrottle=4"),
        (Order(Verb.END_TASKS, 7, tasks="1,4-6"), "scancel 7_[1,4-6]"),
    ],
)
def test_words(order: Order, said: str) -> None:
    assert " ".join(order.argv()) == said


@pytest.mark.parametrize(
    "order",
    [
        Order(Verb.REQUEUE, 0),
        Order(Verb.LIMIT, 7, 0),
        Order(Verb.LIMIT, 7, 10**9),
        Order(Verb.AT_ONCE, 7, -1),
        *(Order(Verb.END_TASKS, 7, tasks=tasks) for tasks in ("", "1]", "1 2", "-1", "a", "1,", "1" * 5000, "1\n2")),
    ],
)
def test_what_is_no_order_is_not_said(order: Order) -> None:
    with pytest.raises(Refused):
        order.argv()


@pytest.mark.parametrize(
    ("code", "stderr", "error"),
    [
        (1, "Access/permission denied for job 7\n", Refused),
        (0, "scancel: error: Kill job error on job id 7: Invalid job id specified\n", Refused),
        (1, "Unable to contact slurm controller (connect failure)\n", Unreachable),
        (1, "slurm_update error: Socket timed out on send/recv operation\n", Unanswered),
        (-9, "", Unanswered),
    ],
)
def test_what_a_command_says_against_it(
    monkeypatch: pytest.MonkeyPatch, code: int, stderr: str, error: type[Exception]
) -> None:
    def run(argv: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(argv, code, "", stderr)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(error):
        Commands("/conf", 1).order(TOKEN, "scontrol", "requeue", "7")


def test_a_silent_command_has_done_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda argv, **_: subprocess.CompletedProcess(argv, 0, "", ""))
    Commands("/conf", 1).order(TOKEN, "scontrol", "requeue", "7")
