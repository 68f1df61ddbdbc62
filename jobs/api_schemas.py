"""What a job looks like over the API: as it is asked for, and as it is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Field, Schema
from ninja.errors import HttpError
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from access import fields
from access.typed import Text
from jobs import reasons
from jobs.models import Job
from jobs.services.batches import MOST
from jobs.specs import BadSpec
from jobs.states import State

LONGEST_MINUTES = 5_256_000  # ten years: what "no limit" of a partition still has to fit in


def _whole(value: Any) -> Any:
    """JSON's 4 and 4.0 are whole numbers; "4" and true are not."""
    if isinstance(value, str | bool):
        raise PydanticCustomError("whole_number", "not a number")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]


class After(BaseModel):
    """Waits for the end of one job: with success (ok), with any, or without success (notok)."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["ok", "any", "notok"]
    job: UUID


class JobRequest(BaseModel):
    """A job as it is asked for. GPUs, CPUs and memory are per node."""

    model_config = ConfigDict(extra="forbid")

    project: Text = Field(description="Code of the project.")
    allocation: Text | None = Field(
        None, description="Code of the allocation it spends; the project's default if left out."
    )
    name: Text | None = Field(
        None, description="Begins with a letter or digit; letters, digits, spaces and . _ + - ; 64 at most."
    )
    partition: Text | None = None
    gpus: Whole = Field(0, ge=0, description="GPUs per node.")
    gpu_type: Text | None = Field(None, description="May be left out where the partition has one type only.")
    nodes: Whole = Field(1, ge=1)
    cpus: Whole = Field(1, ge=1, description="CPUs per node.")
    memory_gb: Whole = Field(4, ge=1, description="Memory per node, GiB.")
    time_limit_minutes: Whole = Field(60, ge=1, le=LONGEST_MINUTES)
    script: str | None = Field(None, description="The batch script; begins with #!, Unix line ends, 4 MiB at the most.")
    environment: dict[Text, Text] = Field(default_factory=dict, description="Variables for the job, 100 at the most.")
    datasets: list[Text] = Field(
        default_factory=list,
        max_length=16,
        description="Datasets it uses: `code` (the newest version) or `code@version`.",
    )
    tasks_per_node: Whole | None = Field(None, ge=1, description="Tasks that share out a node's CPUs; 1 if left out.")
    gpus_per_task: Whole | None = Field(None, ge=1, description="For srun: GPUs of each task; together those per node.")
    exclusive: bool = Field(False, description="Nobody else's job on its nodes.")
    constraint: Text | None = Field(None, description="Features its nodes must have, as sbatch takes them.")
    reservation: Text | None = None
    begin: Text | None = Field(None, description="ISO 8601; not before this time.")
    signal: Text | None = Field(None, description="A signal before the time limit, as sbatch writes it: `B:USR1@120`.")
    requeue: bool | None = Field(None, description="Whether Slurm may run it again; the cluster's default if left out.")
    array: Text | None = Field(None, description="Tasks, and after % how many at once: `1-100%8`.")
    after: list[After] = Field(default_factory=list, max_length=20, description="Jobs that must have ended before.")
    separate_errors: bool = Field(False, description="Standard error in a file of its own.")
    folder: Text | None = Field(None, description="A folder in the project's where it starts; that one if left out.")
    git: Text | None = Field(
        None, description="Code to fetch at the start and to start in, where the site allows it: `URL@COMMIT`."
    )
    preset: Text | None = Field(
        None,
        description="`name@version`, or `name` for its newest: it fills in what is not given (name, partition and "
        "script among it), and what it does not allow is refused.",
    )
    software: Text | None = Field(None, description="The environment it names: `name@version`.")
    parameters: list[dict[Text, Text | bool | int | float]] = Field(
        default_factory=list, description="Of a sweep: one object a task, all with the same names."
    )


class WholeRequest(JobRequest):
    """One that names no preset to fill it in."""

    name: Text
    partition: Text
    script: str


Asked = tuple[dict[str, Any], dict[str, list[str]]]  # the fields that have their form, field -> what is wrong


def asked(request: HttpRequest) -> Asked:
    """The request's JSON body: (the fields that have their form, field -> what is wrong with the others).

    Text that cannot be text is left in, so that the job's own rules may say it better. Raises HttpError 415 or 400.
    """
    return _formed(_body(request))


def asked_together(request: HttpRequest) -> list[Asked]:
    """The same of each job of a batch; raises BadSpec where the batch itself has no form."""
    body = _body(request)
    errors = {name: [_("There is no such field.")] for name in body if name != "jobs"}
    jobs = body.get("jobs")
    if not isinstance(jobs, list) or not 1 <= len(jobs) <= MOST:
        errors["jobs"] = [_("Give a list of 1 to %(n)d jobs.") % {"n": MOST}]
    elif wrong := [place for place, job in enumerate(jobs) if not isinstance(job, dict)]:
        errors |= {f"jobs.{place}": [_("A job is an object with its fields.")] for place in wrong}
    if errors:
        raise BadSpec(errors)
    return [_formed(job) for job in jobs]  # type: ignore[union-attr]


def _body(request: HttpRequest) -> dict[str, Any]:
    if request.content_type != "application/json":
        raise HttpError(415, "not JSON")
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise HttpError(400, "not JSON") from error
    if not isinstance(body, dict):
        raise HttpError(400, "not an object")
    return body


def _formed(body: dict[str, Any]) -> Asked:
    try:
        (JobRequest if body.get("preset") else WholeRequest).model_validate(body)
    except ValidationError as error:
        wrong = fields.messages(error.errors(include_url=False, include_input=False))
        return _kept(body, wrong), wrong
    return body, {}


def _kept(body: Mapping[str, Any], wrong: Mapping[str, Any]) -> dict[str, Any]:
    text = ("name", "partition", "script")
    return {
        name: value for name, value in body.items() if name not in wrong or (name in text and isinstance(value, str))
    }


REQUEST_BODY = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": JobRequest.model_json_schema()}}}
}


_BATCH = {
    "type": "object",
    "required": ["jobs"],
    "additionalProperties": False,
    "properties": {"jobs": {"type": "array", "minItems": 1, "maxItems": MOST, "items": JobRequest.model_json_schema()}},
}
BATCH_BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": _BATCH}}}}


class JobOut(Schema):
    """A job. `state` is one word of the portal's, `slurm_states` what Slurm says; times UTC; null: not known yet."""

    id: UUID
    name: str
    state: Literal[tuple(State.values)]  # type: ignore[valid-type]
    state_label: str
    slurm_states: list[str]
    reason: str
    reason_label: str
    refusal: str
    slurm_job_id: int | None
    url: str
    source: Literal["portal", "outside"]
    project: str
    allocation: str | None
    owner: str
    partition: str
    gpus: int
    gpu_type: str
    nodes: int
    cpus: int
    memory_gb: float
    time_limit_minutes: int | None
    allocated_gpus: int
    node_list: str
    exit_code: int | None
    exit_signal: int | None
    created_at: datetime
    accepted_at: datetime | None
    planned_at: datetime | None = Field(description="While it waits: when Slurm means to start it, if it says so.")
    started_at: datetime | None
    ended_at: datetime | None
    seen_at: datetime | None
    cancel_asked_at: datetime | None
    digest: str
    datasets: list[str]
    options: dict[str, Any] = Field(description="What was asked for beside, by the names of the request.")
    alias: str = Field(description="The name people gave it since, if they did.")
    note: str
    archived_at: datetime | None
    task_counts: dict[str, int] = Field(description="Of an array: how many tasks are in each state, and `total`.")


class Batch(Schema):
    """The jobs in the order in which they were asked for."""

    items: list[JobOut]


class JobPage(Schema):
    """One page, newest first; `next` is the cursor of the page of older jobs."""

    items: list[JobOut]
    next: UUID | None


_PLAIN = (
    "id", "name", "state", "slurm_states", "reason", "refusal", "slurm_job_id", "source", "partition", "gpus",
    "gpu_type", "nodes", "cpus", "time_limit_minutes", "allocated_gpus", "node_list", "exit_code", "exit_signal",
    "created_at", "accepted_at", "planned_at", "started_at", "ended_at", "seen_at", "cancel_asked_at", "digest",
    "task_counts", "alias", "note", "archived_at",
)  # fmt: skip


def job_out(job: Job) -> dict[str, Any]:
    """The values of JobOut; project and allocation must be at hand."""
    found = reasons.of(job)
    return {name: getattr(job, name) for name in _PLAIN} | {
        "state_label": str(job.view.label),
        "reason_label": str(found.sentence) if found else "",
        "url": settings.PUBLIC_URL + job.get_absolute_url(),
        "project": job.project.code,
        "allocation": job.allocation.code if job.allocation else None,
        "owner": job.owner_login,
        "memory_gb": round(job.memory_mb / 1024, 2),
        "datasets": [f"{one['code']}@{one['version']}" for one in job.datasets],
        "options": {name: value for name, value in job.options.items() if name != "parameters"},
    }
