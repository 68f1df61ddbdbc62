"""One job of the fake cluster, its runs, and the records Slurm would give of it."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta

from slurm.contract import JobRecord, Submission
from slurm.fake.hardware import Share
from slurm.text import OVER


@dataclasses.dataclass
class Run:
    """A job has one, and one more for every requeue; Slurm gives each a submit time of its own."""

    submit_time: datetime
    eligible_time: datetime | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None
    state: str = "PENDING"
    nodes: tuple[str, ...] = ()
    exit_code: int | None = None
    exit_signal: int | None = None

    @property
    def is_over(self) -> bool:
        return self.state in OVER or self.state == "REQUEUED"


@dataclasses.dataclass
class FakeJob:
    """`asked` is the request as accepted; `is_lost` means slurmctld forgot it in a crash. An array is one a task."""

    job_id: int
    uid: int
    user: str
    asked: Submission
    share: Share
    admin_comment: str
    runs: list[Run]
    held: str = "JobHeldUser"
    reason: str = "JobHeldUser"
    was_released: bool = False
    is_lost: bool = False
    cpu_seconds: float | None = None
    peak_memory_mb: float | None = None
    array_task: int | None = None

    @property
    def run(self) -> Run:
        return self.runs[-1]

    @property
    def is_over(self) -> bool:
        return self.run.state in OVER

    @property
    def is_running(self) -> bool:
        return self.run.state == "RUNNING"

    @property
    def gpus(self) -> int:
        return self.asked.gpus * self.asked.nodes

    def ends_by(self) -> datetime | None:
        start = self.run.start_time
        return start + timedelta(minutes=self.asked.time_limit_minutes) if start else None

    def record(self, *, number: int = -1, from_accounting: bool = False) -> JobRecord:
        """Run `number` (default: the last one) without free text, as the bulk reads give it."""
        run, asked = self.runs[number], self.asked
        return JobRecord(
            job_id=self.job_id,
            submit_time=run.submit_time,
            uid=self.uid,
            user=self.user,
            states=frozenset({run.state}),
            account=asked.account,
            partition=asked.partition,
            qos=asked.qos,
            reason=self.reason if run is self.run else "",
            start_time=run.start_time if run.nodes else None,
            end_time=run.end_time if run.is_over else None,
            eligible_time=run.eligible_time or asked.begin,
            time_limit_minutes=asked.time_limit_minutes,
            restart_count=range(len(self.runs))[number],
            array_task=self.array_task,
            own_id=self.job_id if self.array_task is None else 10_000 * self.job_id + self.array_task,
            nodes=",".join(run.nodes),
            node_count=asked.nodes,
            cpus=self.share.cpus * asked.nodes,
            memory_mb=self.share.memory_mb * asked.nodes,
            gpus=self.gpus,
            gpu_types={asked.gpu_type: self.gpus} if asked.gpus and asked.gpu_type else {},
            exit_code=run.exit_code if run.is_over else None,
            exit_signal=run.exit_signal if run.is_over else None,
            from_accounting=from_accounting,
        )

    def full(self, record: JobRecord | None = None) -> JobRecord:
        """With its free text, as JSON of one job gives it."""
        asked = self.asked
        return dataclasses.replace(
            record or self.record(),
            name=asked.name,
            comment=asked.comment,
            admin_comment=self.admin_comment,
            working_directory=asked.working_directory,
            standard_output=asked.standard_output,
            standard_error=asked.standard_error,
            requested_gpus_per_node=asked.gpus,
            requested_gpu_types={asked.gpu_type: asked.gpus} if asked.gpus and asked.gpu_type else {},
            requested_gpus_per_task=asked.gpus_per_task,
            dependencies=asked.dependencies,
            constraint=asked.constraint,
            reservation=asked.reservation,
            tasks=asked.tasks,
            tasks_per_node=asked.tasks_per_node,
            requeue=asked.requeue is not False,
            exclusive=asked.exclusive,
        )
