"""What every way of speaking to Slurm must offer: values, errors and the Gateway itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from slurm.books import Account, Association, Books, Limits, Qos

if TYPE_CHECKING:
    from slurm.orders import Order
    from slurm.steps import Step

__all__ = [
    "Account",
    "Accounts",
    "Association",
    "Books",
    "Gateway",
    "JobRecord",
    "Limits",
    "NodeRecord",
    "PartitionRecord",
    "Qos",
    "Refused",
    "ReservationRecord",
    "SlurmError",
    "Submission",
    "Unanswered",
    "Unreachable",
    "Used",
]


class SlurmError(Exception):
    """Anything that went wrong between us and Slurm."""


class Refused(SlurmError):
    """Slurm answered and said no: nothing was done. `code` is Slurm's errno (2010 = invalid ...), 0 if it gave none."""

    def __init__(self, message: str, *, code: int = 0) -> None:
        super().__init__(message)
        self.message, self.code = message, code


class Unreachable(SlurmError):
    """Nothing was done, try later: the request never reached Slurm (no connection, no token), or its queue was full."""


class Unanswered(SlurmError):
    """The request may have reached Slurm and no usable answer came back: the outcome is unknown, never failed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Submission:
    """One complete request as Slurm gets it; always submitted held. Memory in MB per node, time in minutes."""

    name: str
    account: str
    partition: str
    qos: str
    script: str
    working_directory: str
    standard_output: str
    time_limit_minutes: int
    comment: str  # "bancada:<32 hex digits>", the secret token of this attempt
    standard_error: str = ""  # empty: joined with standard output
    nodes: int = 1
    tasks: int = 1  # at least `nodes`: 24.11 never starts a job with fewer
    cpus_per_task: int = 1
    memory_mb: int = 0  # per node; 0: the partition's default
    gpus: int = 0  # per node
    gpu_type: str = ""  # always given where gpus > 0
    gpus_per_task: int = 0  # said beside `gpus`, for srun
    tasks_per_node: int = 0
    exclusive: bool = False
    constraint: str = ""
    reservation: str = ""
    begin: datetime | None = None  # aware
    signal: str = ""  # as sbatch writes it: "B:USR1@120"
    requeue: bool | None = None  # None: as the cluster is set
    array: str = ""  # "1-100%8"; each task is asked for what stands here
    dependencies: frozenset[str] = frozenset()  # {"afterok:12", "afterany:13_4"}, all of them
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class JobRecord:
    """One job (or array task) as Slurm has it. Times are aware UTC datetimes or None; `states` is Slurm's set.

    An array task carries the array's own id in `job_id`, which stays the same when Slurm gives the task a number.
    Slurm moves `submit_time` at every requeue (restart_count > 0): it names a run, and with restart_count 0 the job.
    Where text is all Slurm gives, `states` holds the one it prints: {"COMPLETING"} may stand alone for a moment.
    """

    job_id: int
    submit_time: datetime
    uid: int
    states: frozenset[str]  # base state and flags, upper case: {"RUNNING", "COMPLETING"}
    account: str
    partition: str
    user: str = ""
    qos: str = ""
    array_task: int | None = None
    reason: str = ""  # "" instead of "None"
    start_time: datetime | None = None
    end_time: datetime | None = None
    eligible_time: datetime | None = None
    time_limit_minutes: int | None = None
    restart_count: int = 0
    nodes: str = ""  # Slurm's host list: gpu[01-02]
    node_count: int = 0
    cpus: int = 0
    memory_mb: int = 0  # per job, allocated
    gpus: int = 0  # the untyped total of AllocTRES (or of the request while pending)
    gpu_types: Mapping[str, int] = dataclasses.field(default_factory=dict)  # {"a100": 2}
    exit_code: int | None = None
    exit_signal: int | None = None
    # free text and paths: filled by job() and find(), never by the bulk reads
    name: str = ""
    comment: str = ""  # the owner can rewrite it: a hint
    admin_comment: str = ""  # the owner cannot
    working_directory: str = ""
    standard_output: str = ""
    standard_error: str = ""
    requested_gpus_per_node: int = 0
    requested_gpu_types: Mapping[str, int] = dataclasses.field(default_factory=dict)  # per node
    requested_gpus_per_task: int | None = 0  # None: as below
    array: str = ""  # of an array not yet split up: its tasks as Slurm writes them, cut short by "..." where long
    dependencies: frozenset[str] = frozenset()  # those not yet met
    constraint: str = ""
    reservation: str = ""
    # None: this record cannot tell
    own_id: int | None = dataclasses.field(default=None, compare=False)  # of a task once it has one: nodes know it by
    tasks: int | None = None
    tasks_per_node: int | None = None
    cpus_per_task: int | None = None
    requeue: bool | None = None
    exclusive: bool | None = None
    # while pending: when the scheduler thinks it will start (start_time stays None until it has)
    expected_start_time: datetime | None = None
    from_accounting: bool = False  # slurmdbd's word: slurmctld may not have the job (any more)


@dataclasses.dataclass(frozen=True, slots=True)
class Used:
    """What one run used by slurmdbd's accounting; None: not measured (too short, or not gathered there)."""

    job_id: int
    array_task: int | None
    submit_time: datetime
    cpu_seconds: float | None
    peak_memory_mb: float | None  # of its largest task, sampled every some seconds


@dataclasses.dataclass(frozen=True, slots=True)
class NodeRecord:
    """One node: memory in MB, `gpu_types` as configured, e.g. {"a100": 4}."""

    name: str
    states: frozenset[str]
    cpus: int
    cpus_allocated: int
    memory_mb: int
    memory_allocated_mb: int
    gpu_types: Mapping[str, int]
    gpus_allocated: int
    partitions: tuple[str, ...]
    reason: str = ""
    reason_since: datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionRecord:
    """One partition with its limits; None means Slurm sets none."""

    name: str
    state: str  # UP, DOWN, DRAIN, INACTIVE
    nodes: tuple[str, ...]
    max_time_minutes: int | None
    default_time_minutes: int | None
    max_nodes: int | None
    total_cpus: int
    allowed_accounts: tuple[str, ...] = ()  # empty: all
    allowed_qos: tuple[str, ...] = ()
    billing: Mapping[str, float] = dataclasses.field(default_factory=dict)  # {"gres/gpu": 1.0}; empty: CPUs are counted


@dataclasses.dataclass(frozen=True, slots=True)
class ReservationRecord:
    """Nodes kept for these users or accounts from `start_time` until `end_time`."""

    name: str
    start_time: datetime
    end_time: datetime
    nodes: tuple[str, ...]
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    is_maintenance: bool = False


class Gateway(Protocol):
    """The ordinary door: submit and act as a person, read as the portal's reader.

    Every call has a deadline (seconds, given at connect). `as_user` is a login name the signer accepts.
    Raises Refused, Unreachable or Unanswered and nothing else.
    """

    def version(self) -> str:
        """Slurm's release, "22.05.8"; also the ping of slurmctld."""

    def submit(self, submission: Submission, *, as_user: str) -> int:
        """Submit held; the job id. A warning beside an id is an acceptance."""

    def release(self, job_id: int, *, as_user: str) -> None:
        """Of an array, all tasks; so do hold and cancel."""

    def hold(self, job_id: int, *, as_user: str) -> None: ...

    def cancel(self, job_id: int, *, as_user: str) -> None:
        """Ends the job; a job already over raises Refused."""

    def order(self, order: Order, *, as_user: str) -> None:
        """Requeue, another limit, a part of an array. Slurm's no raises Refused; look at the job to see what it did."""

    def job(self, job_id: int, *, as_user: str | None = None) -> JobRecord | None:
        """One job with its free text from slurmctld; None means slurmctld answered that it has no such job.

        Of an array, its tasks that wait as one record, or else one of the tasks.
        """

    def jobs(self) -> Sequence[JobRecord]:
        """All jobs slurmctld has, one call, without free text."""

    def accounting(self, *, since: datetime, job_ids: Collection[int] = ()) -> Sequence[JobRecord]:
        """Jobs slurmdbd knows of that were active since then (every run, requeues included), without free text."""

    def used(self, *, since: datetime, job_ids: Collection[int]) -> Sequence[Used]:
        """What the runs of these jobs used, as far as slurmdbd has it; a job it does not know is not in the answer."""

    def find(self, *, comment: str, uid: int, account: str, since: datetime) -> Sequence[JobRecord]:
        """Jobs in slurmctld AND slurmdbd whose (admin) comment is this token, of that uid and account, submitted since.

        An empty answer means both answered and neither has it; if either does not answer this raises.
        """

    def nodes(self) -> Sequence[NodeRecord]: ...

    def partitions(self) -> Sequence[PartitionRecord]: ...

    def reservations(self) -> Sequence[ReservationRecord]:
        """Everybody's, those to come too."""


class Accounts(Protocol):
    """The administrator's door (sacctmgr as `bancada`) to slurmdbd's books.

    Level-triggered: read the books, plan (slurm.plan), carry out, read again. What counts is what the books then say.
    """

    def books(self, accounts: Collection[str] | None = None, qos: Collection[str] = ()) -> Books:
        """What is there: all of it, or only of these accounts and QOS (of absent ones there is just nothing).

        A fixed number of commands whatever there is. Raises Unreachable or Unanswered on silence and on an answer
        that is cut short, never a part of the books; Refused for what cannot be a name.
        """

    def carry_out(self, steps: Sequence[Step]) -> Sequence[str]:
        """Do these in order; what Slurm complained of meanwhile, to be shown and not to be decided by.

        A step done before changes nothing, a step that cannot be done keeps no other from being done. Raises Refused
        before anything is done for a name that cannot be one, Unreachable where nothing was done, Unanswered where
        some may have been: read the books and plan again.
        """

    def cancel_any(self, job_id: int) -> None:
        """Cancel anybody's job as the portal's administrator."""

    def hold_any(self, job_id: int) -> None:
        """Hold anybody's waiting job so that only an administrator may release it (JobHeldAdmin)."""

    def order_any(self, order: Order) -> None:
        """The same order about anybody's job, as the portal's administrator."""
