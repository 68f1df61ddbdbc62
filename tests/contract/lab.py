"""What the contract tests need of a cluster beside its gateway: people, output, an end for a job, and faults."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol, TypeVar

from slurm.contract import Accounts, Gateway, JobRecord, Submission
from slurm.operating import Nodes

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Person:
    user: str
    uid: int
    account: str
    qos: str


class Lab(Protocol):
    """A cluster under test. `davi` and `felipe` are in different accounts, `iara` in none."""

    name: str
    gateway: Gateway
    accounts: Accounts
    nodes: Nodes
    davi: Person
    felipe: Person
    iara: Person

    def now(self) -> datetime: ...

    def folder(self, person: Person) -> str: ...

    def script(self, key: str) -> str:
        """A batch script that runs until `end` is called with this key."""

    def sbatch(self, person: Person, account: str, *, partition: str = "gpu", gpus: int = 1, minutes: int = 5) -> int:
        """Typed into a shell, with the QOS that is called as the account; the job's id, 0 if it is refused."""

    def another_hand(self, account: str, user: str, *, gpus: int) -> None:
        """Somebody with sacctmgr sets GrpTRES of this person's rows."""

    def another_limit(self, qos: str, word: str, value: int) -> None:
        """Somebody with sacctmgr sets one of a QOS's limits per user or account."""

    def end(self, job_id: int, key: str, *, exit_code: int = 0) -> None: ...

    def requeue(self, job_id: int) -> None: ...

    def until(self, look: Callable[[], T], *, seconds: float = 30) -> T:
        """Look again and again, letting the cluster's time pass, until it is true; the last look."""

    def feature(self, node: str, name: str) -> AbstractContextManager[None]:
        """The node has this feature."""

    def reservation(self, name: str, node: str, user: str) -> AbstractContextManager[None]:
        """Made by the site for this person, from tomorrow on."""

    def sacctmgr_killed(self, seconds: float) -> AbstractContextManager[None]:
        """Changes of accounts are broken off after some of them, or after so long."""

    def slurmctld_stopped(self) -> AbstractContextManager[None]: ...

    def slurmctld_down(self) -> AbstractContextManager[None]: ...

    def slurmrestd_down(self) -> AbstractContextManager[None]: ...

    def slurmdbd_down(self) -> AbstractContextManager[None]: ...


def new_key() -> str:
    return secrets.token_hex(4)


def submission(lab: Lab, person: Person, key: str = "", **changes: object) -> Submission:
    """A small job on one GPU; `key` ends it."""
    folder = lab.folder(person)
    asked = Submission(
        name=f"contract-{key or 'x'}",
        account=person.account,
        partition="gpu",
        qos=person.qos,
        script=lab.script(key or new_key()),
        working_directory=folder,
        standard_output=f"{folder}/contract-%j.out",
        time_limit_minutes=5,
        comment=f"bancada:{secrets.token_hex(16)}",
        cpus_per_task=2,
        memory_mb=500,
        gpus=1,
        gpu_type="a100",
        environment={"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8"},
    )
    return dataclasses.replace(asked, **changes)  # type: ignore[arg-type]


def is_running(lab: Lab, job_id: int) -> Callable[[], bool]:
    return lambda: "RUNNING" in state(lab, job_id)


def is_over(lab: Lab, job_id: int) -> Callable[[], JobRecord | None]:
    def look() -> JobRecord | None:
        record = lab.gateway.job(job_id)
        return record if record and record.end_time and "COMPLETING" not in record.states else None

    return look


def state(lab: Lab, job_id: int) -> frozenset[str]:
    record = lab.gateway.job(job_id)
    return record.states if record else frozenset()
