"""The Gateway of a fake cluster: the same answers, refusals and silences as the real one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from slurm import search
from slurm.contract import JobRecord, NodeRecord, PartitionRecord, Refused, ReservationRecord, Submission, Used
from slurm.fake import admission, hardware, scheduling
from slurm.fake.cluster import Cluster
from slurm.fake.jobs import FakeJob
from slurm.fake.orders import obey
from slurm.orders import Order

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class FakeGateway:
    """Speaks for `cluster`, to which tests hold the strings."""

    cluster: Cluster

    def version(self) -> str:
        return self._read(lambda: self.cluster.release)

    def submit(self, submission: Submission, *, as_user: str) -> int:
        job_id = self._act(lambda: self._accept(submission, as_user), as_user)
        self.cluster.health.answer()
        return job_id

    def _accept(self, asked: Submission, user: str) -> int:
        admission.check(self.cluster, asked, user)
        return self.cluster.accept(asked, user).job_id

    def release(self, job_id: int, *, as_user: str) -> None:
        self._act(lambda: self._set_held(job_id, as_user, ""), as_user)

    def hold(self, job_id: int, *, as_user: str) -> None:
        self._act(lambda: self._set_held(job_id, as_user, "JobHeldUser"), as_user)

    def _set_held(self, job_id: int, user: str, held: str) -> None:
        waiting = [job for job in self._own(job_id, user, code=2010) if not job.is_over]
        if not waiting:
            raise Refused("Job has already finished", code=2084)
        for job in waiting:
            if job.held == "JobHeldAdmin":
                raise Refused("Access/permission denied", code=2002)
            if job.run.state != "PENDING":
                continue
            job.held, job.reason = held, held
            if not held and not job.was_released:
                job.was_released = True
                job.run.eligible_time = max(self.cluster.now, job.asked.begin or self.cluster.now)

    def cancel(self, job_id: int, *, as_user: str) -> None:
        self._act(lambda: self.end(self._own(job_id, as_user, code=2017)), as_user)

    def end(self, tasks: Sequence[FakeJob]) -> None:
        """What a cancel does, by whomever."""
        if all(job.is_over for job in tasks):
            raise Refused(f"job {tasks[0].job_id} is over already", code=2021)
        for job in tasks:
            if not job.is_over:
                signal = scheduling.SIGTERM if job.is_running else None
                scheduling.end(job, self.cluster.now, "CANCELLED", exit_code=None if signal else 0, signal=signal)

    def order(self, order: Order, *, as_user: str) -> None:
        self._act(lambda: obey(self.cluster, order, user=as_user), as_user)

    def job(self, job_id: int, *, as_user: str | None = None) -> JobRecord | None:
        def look() -> JobRecord | None:
            try:
                found = self.cluster.get(job_id)
            except Refused:
                return None
            return self._whole(found) if as_user in (None, found.user) else None

        return self._read(look, as_user)

    def _whole(self, job: FakeJob) -> JobRecord:
        """Tasks of an array that wait together are one record, under no task's number."""
        if job.array_task is None:
            return job.full()
        waiting = [one.array_task for one in self.cluster.named(job.job_id) if one.run == job.run]
        if job.run.state != "PENDING" or len(waiting) == 1:
            return job.full()
        limit = job.asked.array.partition("%")[2]
        together = ",".join(map(str, waiting)) + (f"%{limit}" if limit else "")
        return dataclasses.replace(job.full(), array_task=None, array=together)

    def jobs(self) -> Sequence[JobRecord]:
        return self._read(lambda: [job.record() for job in self.cluster.present()])

    def accounting(self, *, since: datetime, job_ids: Collection[int] = ()) -> Sequence[JobRecord]:
        def look() -> list[JobRecord]:
            rows = [row for job in self.cluster.every_job for row in _rows(job)]
            wanted = [row for row in rows if not job_ids or row.job_id in job_ids]
            return [row for row in wanted if row.end_time is None or row.end_time >= since]

        self.cluster.health.check("slurmdbd")
        return self._locked(look)

    def used(self, *, since: datetime, job_ids: Collection[int]) -> Sequence[Used]:
        """As the test says it used (FakeJob.cpu_seconds, .peak_memory_mb); nothing is measured by itself."""
        jobs = {job.job_id: job for job in self.cluster.every_job}
        rows = [(row, jobs[row.job_id]) for row in (self.accounting(since=since, job_ids=job_ids) if job_ids else ())]
        return [
            Used(row.job_id, row.array_task, row.submit_time, job.cpu_seconds, job.peak_memory_mb) for row, job in rows
        ]

    def find(self, *, comment: str, uid: int, account: str, since: datetime) -> Sequence[JobRecord]:
        return search.find(self, search.Wanted(comment, uid, account, since.replace(microsecond=0)))

    def accounting_of(self, account: str, since: datetime) -> Sequence[JobRecord]:
        return [row for row in self.accounting(since=since) if row.account == account]

    def accounting_details(self, account: str, since: datetime, uid: int) -> Sequence[JobRecord]:
        """With free text; as in the real one the comments are there only once a job is over."""
        by_key = {
            (job.job_id, job.array_task, job.uid, run.submit_time): job
            for job in self.cluster.every_job
            for run in job.runs
        }
        rows = [row for row in self.accounting_of(account, since) if row.uid == uid]
        return [
            by_key[row.job_id, row.array_task, row.uid, row.submit_time].full(row)
            for row in rows
            if row.end_time is not None
        ]

    def accounting_backlog(self) -> int:
        return 0

    def nodes(self) -> Sequence[NodeRecord]:
        cluster = self.cluster
        return self._read(
            lambda: [
                hardware.node_record(node, scheduling.taken(cluster, node.name), cluster.partitions)
                for node in cluster.nodes.values()
            ]
        )

    def partitions(self) -> Sequence[PartitionRecord]:
        cluster = self.cluster
        return self._read(
            lambda: [hardware.partition_record(one, cluster.nodes) for one in cluster.partitions.values()]
        )

    def reservations(self) -> Sequence[ReservationRecord]:
        """The site's own have no times here but now and an hour."""
        cluster = self.cluster

        def look() -> list[ReservationRecord]:
            now, later = cluster.now, cluster.now + timedelta(hours=1)
            own = [ReservationRecord(name, now, later, ()) for name in sorted(cluster.reservations)]
            kept = [
                ReservationRecord(name, start, end, nodes or tuple(cluster.nodes), ("root",), (), True)
                for name, (nodes, start, end) in cluster.windows.items()
            ]
            return own + kept

        return self._read(look)

    def _own(self, job_id: int, user: str, *, code: int) -> list[FakeJob]:
        found = self.cluster.named(job_id)
        if found[0].user != user:
            raise Refused("Invalid user id" if code == 2010 else f"Slurm has no job {job_id} for {user}", code=code)
        return found

    def _read(self, look: Callable[[], T], as_user: str | None = None) -> T:
        self._may_be_signed_for(as_user)
        self.cluster.health.check("slurmrestd", "slurmctld")
        return self._locked(look)

    def _act(self, deed: Callable[[], T], as_user: str | None) -> T:
        self._may_be_signed_for(as_user)
        if self.cluster.health.to_raise:
            raise self.cluster.health.to_raise.popleft()
        self.cluster.health.act(deed)
        return self._locked(deed)

    def _locked(self, what: Callable[[], T]) -> T:
        with self.cluster.lock:
            self.cluster.tick()
            return what()

    def _may_be_signed_for(self, user: str | None) -> None:
        if user is not None and user not in self.cluster.users:
            raise Refused("the signer refused: no such user on this system")


def _rows(job: FakeJob) -> list[JobRecord]:
    """slurmdbd hears of a job when it becomes eligible, or when it ends."""
    return [
        job.record(number=number, from_accounting=True)
        for number, run in enumerate(job.runs)
        if run.is_over or job.was_released
    ]
