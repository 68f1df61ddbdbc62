"""The fake cluster as a lab."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TypeVar

import slurm
from slurm import fake
from slurm.books import Limits, Qos
from slurm.contract import Refused
from tests.contract.lab import Person, submission

T = TypeVar("T")


class FakeLab:
    name = "fake"
    davi = Person("davi", 20004, "visao", "visao-2026")
    felipe = Person("felipe", 20006, "atlas", "atlas-2026")
    iara = Person("iara", 20009, "visao", "visao-2026")

    def __init__(self) -> None:
        self.cluster = fake.reset("contract")
        self.gateway = slurm.connect("fake:contract")
        self.accounts = slurm.accounts("fake:contract")
        self.nodes = slurm.nodes("fake:contract")
        for who, partitions in ((self.davi, ("gpu", "large", "prep")), (self.felipe, ("gpu", "prep"))):
            self.cluster.open_account(who.account, users={who.user: who.uid}, partitions=partitions, qos=who.qos)
            self.cluster.qos[who.qos] = Qos(who.qos, Limits(gpus_at_once=8))
        self.cluster.add_user("iara", 20009)

    def now(self) -> datetime:
        return self.cluster.now

    def folder(self, person: Person) -> str:
        return f"/srv/var/projects/{person.account}"

    def script(self, key: str) -> str:
        return f"#!/bin/bash\n# {key}\n"

    def sbatch(self, person: Person, account: str, *, partition: str = "gpu", gpus: int = 1, minutes: int = 5) -> int:
        asked = submission(
            self, person, account=account, qos=account, partition=partition, gpus=gpus, time_limit_minutes=minutes
        )
        try:
            job_id = self.gateway.submit(asked, as_user=person.user)
        except Refused:
            return 0
        self.gateway.release(job_id, as_user=person.user)
        return job_id

    def another_hand(self, account: str, user: str, *, gpus: int) -> None:
        for key, row in self.cluster.associations.items():
            if key[:2] == (account, user):
                limits = dataclasses.replace(row.limits, gpus_at_once=gpus)
                self.cluster.associations[key] = dataclasses.replace(row, limits=limits)

    def another_limit(self, qos: str, word: str, value: int) -> None:
        there = self.cluster.qos[qos]
        self.cluster.qos[qos] = dataclasses.replace(there, overrules=there.overrules | {word})

    def end(self, job_id: int, key: str, *, exit_code: int = 0) -> None:
        self.cluster.finish(job_id, exit_code=exit_code)

    def requeue(self, job_id: int) -> None:
        self.cluster.requeue(job_id)

    def until(self, look: Callable[[], T], *, seconds: float = 30) -> T:
        seen = look()
        for _ in range(int(seconds)):
            if seen:
                break
            self.cluster.turn(seconds=1)
            seen = look()
        assert seen, "it did not happen"
        return seen

    @contextlib.contextmanager
    def feature(self, node: str, name: str) -> Iterator[None]:
        self.cluster.features.add(name)
        try:
            yield
        finally:
            self.cluster.features.remove(name)

    @contextlib.contextmanager
    def reservation(self, name: str, node: str, user: str) -> Iterator[None]:
        self.cluster.reservations.add(name)
        try:
            yield
        finally:
            self.cluster.reservations.remove(name)

    @contextlib.contextmanager
    def sacctmgr_killed(self, seconds: float) -> Iterator[None]:
        self.cluster.kill_sacctmgr(after=2)
        yield

    @contextlib.contextmanager
    def slurmctld_stopped(self) -> Iterator[None]:
        self.cluster.stop()
        yield
        self.cluster.go_on()

    @contextlib.contextmanager
    def _down(self, daemon: str) -> Iterator[None]:
        self.cluster.go_down(daemon)
        yield
        self.cluster.come_up(daemon)

    def slurmctld_down(self) -> contextlib.AbstractContextManager[None]:
        return self._down("slurmctld")

    def slurmrestd_down(self) -> contextlib.AbstractContextManager[None]:
        return self._down("slurmrestd")

    def slurmdbd_down(self) -> contextlib.AbstractContextManager[None]:
        return self._down("slurmdbd")
