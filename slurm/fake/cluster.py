"""The fake cluster: who may use it, its jobs, its clock, and the scenes a test plays with it."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from slurm import text
from slurm.books import Association, Key, Qos
from slurm.contract import Refused, SlurmError, Submission
from slurm.fake import hardware, scheduling
from slurm.fake.faults import Health
from slurm.fake.jobs import FakeJob, Run

if TYPE_CHECKING:
    from slurm.fake.accounts import FakeAccounts
    from slurm.fake.gateway import FakeGateway
    from slurm.fake.nodes import FakeNodes

FIRST_UID = 20001
TOKEN = re.compile(r"bancada:[0-9a-f]{32}")
REQUEUE_DELAY = timedelta(seconds=120)


class Cluster:
    """Safe to share between threads. Attributes are there for tests to look at and to change."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.release = "22.05.8"
        self.nodes = hardware.default_nodes()
        self.partitions = hardware.default_partitions()
        self.windows: dict[str, tuple[tuple[str, ...], datetime, datetime]] = {}  # maintenance, by its name
        self.users: dict[str, int] = {}
        self.qos: dict[str, Qos] = {"normal": Qos("normal")}
        self.associations: dict[Key, Association] = {("root", "", ""): Association("root")}
        self.every_job: list[FakeJob] = []
        self.next_id = 1
        self.features: set[str] = set()
        self.reservations: set[str] = set()
        self.min_job_age = timedelta(seconds=300)
        self.is_scheduling = True
        self.health = Health()
        self._turned = timedelta()

    def gateway(self) -> FakeGateway:
        from slurm.fake.gateway import FakeGateway

        return FakeGateway(self)

    def accounts(self) -> FakeAccounts:
        from slurm.fake.accounts import FakeAccounts

        return FakeAccounts(self)

    def nodes_door(self) -> FakeNodes:
        from slurm.fake.nodes import FakeNodes

        return FakeNodes(self)

    # -- the clock

    @property
    def now(self) -> datetime:
        """Whole seconds, as Slurm counts."""
        return (datetime.now(UTC) + self._turned).replace(microsecond=0)

    def turn(self, **by: float) -> None:
        """Turn the clock forward by timedelta's words: turn(minutes=5)."""
        with self.lock:
            self._turned += timedelta(**by)
            self.tick()

    def tick(self) -> None:
        """Let the scheduler look: end what is over its time, start what fits."""
        with self.lock:
            if not {"slurmctld"} & (self.health.down | self.health.stopped):
                scheduling.look(self)

    # -- who is there

    def add_user(self, name: str, uid: int | None = None) -> int:
        """Make a login known to the cluster's name service; its uid."""
        return self.users.setdefault(name, uid or FIRST_UID + len(self.users))

    def open_account(
        self,
        account: str,
        *,
        users: Collection[str] | Mapping[str, int],
        partitions: Collection[str],
        qos: str = "normal",
    ) -> None:
        """An account its users may submit under in these partitions, by this QOS; `users` may give their uids."""
        self.associations.setdefault((account, "", ""), Association(account))
        self.qos.setdefault(qos, Qos(qos))
        for user in users:
            self.add_user(user, users[user] if isinstance(users, Mapping) else None)
            for partition in partitions:
                row = Association(account, user, partition, frozenset({qos}), qos)
                self.associations[row.key] = row

    # -- its jobs

    def present(self) -> list[FakeJob]:
        """What slurmctld has: all that is not over, and that until MinJobAge after its end."""
        return [job for job in self.every_job if not job.is_lost and not self._is_purged(job)]

    def _is_purged(self, job: FakeJob) -> bool:
        end = job.run.end_time
        return job.is_over and end is not None and self.now - end > self.min_job_age

    def get(self, job_id: int, task: int | None = None) -> FakeJob:
        """The newest job slurmctld has under this number; of an array its first task that waits, or the one named."""
        found = self.named(job_id)
        chosen = [job for job in found if task in (None, job.array_task)]
        return next((job for job in chosen if task is None and job.run.state == "PENDING"), chosen[0])

    def named(self, job_id: int) -> list[FakeJob]:
        """The newest job, or the tasks of the newest array, that slurmctld has under this number."""
        found = [job for job in self.present() if job.job_id == job_id]
        if not found:
            raise Refused("Invalid job id specified", code=2017)
        return [job for job in found if job.asked is found[-1].asked]

    def accept(self, asked: Submission, user: str) -> FakeJob:
        """Put a checked request into the queue, held; of an array the first task."""
        comment = asked.comment if TOKEN.fullmatch(asked.comment) else ""
        part = hardware.share(asked, self.partitions[asked.partition])
        number, tasks = self.next_id, text.tasks(asked.array) if asked.array else [None]
        made = [
            FakeJob(number, self.users[user], user, asked, part, comment, [Run(self.now)], array_task=task)
            for task in tasks
        ]
        self.next_id += len(made)
        self.every_job += made
        return made[0]

    # -- scenes

    def finish(
        self, job_id: int, *, task: int | None = None, exit_code: int = 0, signal: int | None = None, state: str = ""
    ) -> None:
        """The running job, or the task of an array, ends; `state` for NODE_FAIL, OUT_OF_MEMORY and the like."""
        with self.lock:
            self.tick()
            job = self.get(job_id, task)
            if not job.is_running:
                raise ValueError(f"job {job_id} is {job.run.state}, not RUNNING ({job.reason})")
            failed = "FAILED" if exit_code or signal else "COMPLETED"
            scheduling.end(job, self.now, state or failed, exit_code=None if signal else exit_code, signal=signal)
            job.reason = "NonZeroExitCode" if exit_code else ""
            self.tick()

    def requeue(self, job_id: int, task: int | None = None) -> None:
        """As `scontrol requeue`: the same job runs again, with a new submit time, after two minutes."""
        with self.lock:
            job = self.get(job_id, task)
            scheduling.end(job, self.now, "REQUEUED", exit_code=0, signal=None)
            later = self.now + timedelta(seconds=1)
            job.runs.append(Run(later, eligible_time=later + REQUEUE_DELAY))
            job.reason = "BeginTime"

    def lose(self, job_id: int) -> None:
        """slurmctld crashed before it wrote this job down: it is gone, and its number goes to the next one."""
        with self.lock:
            for job in self.named(job_id):
                job.is_lost = True
            self.next_id = job_id

    def refuse_next(self, error: SlurmError) -> None:
        """The next act or read raises this before anything happens."""
        self.health.to_raise.append(error)

    def lose_next_answer(self, times: int = 1) -> None:
        """The next submissions are accepted, and their answers lost: Unanswered."""
        self.health.answers_to_lose = times

    def kill_sacctmgr(self, *, after: int) -> None:
        """The next changes of accounts are done up to this step; then sacctmgr is killed: Unanswered."""
        self.health.steps_until_silence = after

    def stop(self, daemon: str = "slurmctld") -> None:
        """SIGSTOP: requests wait in its queue."""
        self.health.stopped.add(daemon)

    def go_on(self, daemon: str = "slurmctld") -> None:
        """SIGCONT: what waited is done now."""
        with self.lock:
            self.health.stopped.discard(daemon)
            self.health.carry_out()

    def go_down(self, daemon: str = "slurmctld") -> None:
        self.health.down.add(daemon)

    def come_up(self, daemon: str = "slurmctld") -> None:
        self.health.down.discard(daemon)
