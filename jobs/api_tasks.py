"""The API of an array's tasks: each with its state, parameters and values, and what is done to some of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, cast
from uuid import UUID

from django.http import HttpRequest
from ninja import Field, Router, Schema, Status

from access.permissions import Permission
from access.typed import Text
from accounts.models import User
from jobs.services import reading, shapes, sweeps
from jobs.states import State

router = Router()


class TaskOut(Schema):
    """One task; `values` are {"loss": {"last", "best"}} once it is over; exit and times are of its last run."""

    task: int
    state: Literal[tuple(State.values)]  # type: ignore[valid-type]
    state_label: str
    parameters: dict[str, Any]
    values: dict[str, dict[str, float]]
    exit_code: int | None
    exit_signal: int | None
    started_at: datetime | None
    ended_at: datetime | None
    node_list: str


class TasksOut(Schema):
    """All tasks in the order asked for; `parameters` and `values` are the names of the columns."""

    items: list[TaskOut]
    parameters: list[str]
    values: list[str]


class TasksAsked(Schema):
    """`rerun`: those that failed, as a new array; `throttle`: `number` at once, 0 for no limit; `end`: `tasks`."""

    act: Literal["rerun", "throttle", "end"]
    number: int = Field(0, ge=0, le=1_000_000, description="With `throttle`: how many run at once from now on.")
    tasks: Text = Field("", max_length=2000, description="With `end`: which, as `3,5-7`.")


class TasksOutcome(Schema):
    """`made`: the array of those that run again; `tasks`: those whose end was asked for."""

    made: UUID | None = None
    tasks: list[int] = []


@router.get("/{uuid:pk}/tasks", response=TasksOut, operation_id="job_tasks")
def job_tasks(request: HttpRequest, pk: UUID, sort: str = "") -> dict[str, Any]:
    """An array's tasks by `number`, `state`, a parameter, `last:loss` or `best:loss`, `-` before it for the other way.

    None for a job that is no array."""
    job = reading.fetch_to_take(request.user, pk)
    sweep = sweeps.of(job)
    reading.note(job=job, by=cast(User, request.user))
    items = [_task(task) for task in sweeps.ordered(sweep, sort[:100])]
    return {"items": items, "parameters": sweep.parameters, "values": sweep.values}


def _task(task: sweeps.Task) -> dict[str, Any]:
    facts = ("exit_code", "exit_signal", "started_at", "ended_at")
    return {name: getattr(task.run, name, None) for name in facts} | {
        "task": task.number, "state": task.state, "state_label": str(task.view.label), "parameters": task.parameters,
        "values": task.values, "node_list": task.run.node_list if task.run else "",
    }  # fmt: skip


@router.post("/{uuid:pk}/tasks", response={202: TasksOutcome}, operation_id="act_on_tasks")
def act_on_tasks(request: HttpRequest, pk: UUID, asked: TasksAsked) -> Status[dict[str, Any]]:
    """Run the failed ones again, change how many run at once, or end some; Slurm does it in a moment.

    409 where the array does not stand so that it can be done."""
    needed = Permission.JOB_VIEW if asked.act == "rerun" else Permission.JOB_CANCEL
    job = shapes.PLAIN.fetch(request.user, needed, pk=pk)
    by = cast(User, request.user)
    if asked.act == "rerun":
        return Status(202, {"made": sweeps.rerun_failed(job=job, by=by).pk})
    if asked.act == "end":
        return Status(202, {"tasks": sweeps.end_tasks(job=job, by=by, tasks=asked.tasks)})
    sweeps.throttle(job=job, by=by, number=asked.number)
    return Status(202, {})
