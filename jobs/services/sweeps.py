"""An array as people see it: its tasks with their states, parameters and values; what is done to some of them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.models import IntentKind, Job, Run
from jobs.services import arrays, repeating
from jobs.services.acts.asking import NotPossible, intend
from jobs.states import State, View, from_slurm, view
from slurm import text

BAD = (State.FAILED, State.TIMEOUT, State.OUT_OF_MEMORY, State.NODE_FAILURE, State.PREEMPTED, State.CANCELLED)
UNDER_WAY = (State.WAITING, State.HELD, State.REQUEUED, State.RUNNING, State.ENDING, State.SUSPENDED)


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """One task; `values` are {"loss": {"last", "best"}}, once it is over."""

    number: int
    state: State
    run: Run | None
    parameters: dict[str, Any]
    values: dict[str, dict[str, float]]

    @property
    def view(self) -> View:
        """Its state as a page draws it."""
        return view(self.state)


@dataclasses.dataclass(frozen=True, slots=True)
class Sweep:
    """All tasks, and the names of their parameters and values."""

    tasks: list[Task]
    parameters: list[str]
    values: list[str]

    @property
    def counts(self) -> list[tuple[View, int]]:
        """How many in each state, most first."""
        return [(view(state), count) for state, count in Counter(task.state for task in self.tasks).most_common()]

    @property
    def failed(self) -> list[int]:
        """The numbers of those that did not work."""
        return [task.number for task in self.tasks if task.state in BAD]


def of(job: Job) -> Sweep:
    """The array as the portal knows it now."""
    runs = {run.array_task: run for run in arrays.last_runs(job.pk)}
    numbers = job.asked.task_numbers
    rows = dict(zip(numbers, job.asked.parameters, strict=False))
    tasks = [_task(job, number, runs.get(number), dict(rows.get(number, {}))) for number in numbers]
    values = dict.fromkeys(name for task in tasks for name in task.values)
    return Sweep(tasks, list(job.asked.parameters[0]) if job.asked.parameters else [], list(values))


def _task(job: Job, number: int, run: Run | None, parameters: dict[str, Any]) -> Task:
    if run is not None:
        return Task(number, from_slurm(run.slurm_states), run, parameters, run.metrics)
    state = State(job.state) if job.state in (State.HELD, State.CANCELLED, State.REFUSED, State.LOST) else State.WAITING
    return Task(number, state if job.is_open or state is not State.WAITING else State.UNKNOWN, None, parameters, {})


def ordered(sweep: Sweep, by: str) -> list[Task]:
    """By a parameter, "last:loss", "best:loss", "state" or the number; "-" turns it; without a value: last."""
    name, turned = by.removeprefix("-"), by.startswith("-")
    keyed = [(_key(task, name), task) for task in sweep.tasks]
    valued = [(key, task) for key, task in keyed if key is not None]
    known = sorted(valued, key=itemgetter(0), reverse=turned)
    return [task for _key_, task in known] + [task for key, task in keyed if key is None]


def _key(task: Task, name: str) -> tuple[int, float, str] | None:
    kind, _colon, value = name.partition(":")
    if kind in ("last", "best") and value:
        found: Any = task.values.get(value, {}).get(kind)
    elif name == "state":
        found = str(task.state)
    else:
        found = task.parameters.get(name, task.number if name in ("", "number") else None)
    if found is None:
        return None
    return (0, float(found), "") if isinstance(found, int | float) else (1, 0.0, str(found))


def rerun_failed(*, job: Job, by: User) -> Job:
    """The tasks that did not work as a new array, each with its own number and row. Raises repeating.NotAgain."""
    failed = of(job).failed
    if not failed:
        raise repeating.NotAgain(_("None of its tasks failed."))
    return repeating.again(job=job, by=by, tasks=failed)


@transaction.atomic
def throttle(*, job: Job, by: User, number: int) -> None:
    """How many tasks run at once from now on; 0 for as many as fit. Raises NotPossible."""
    row = _open_array(job)
    if not 0 <= number <= row.asked.tasks:
        raise NotPossible(_("Between 0 (no such limit) and the number of its tasks."))
    intend(row, IntentKind.AT_ONCE, by=by, number=number)


@transaction.atomic
def end_tasks(*, job: Job, by: User, tasks: str) -> list[int]:
    """Ask for the end of these ("3,5-7"); those that are under way. Raises NotPossible."""
    row = _open_array(job)
    chosen = under_way(of(row), tasks)
    if not chosen:
        raise NotPossible(_("None of these tasks is under way."))
    intend(row, IntentKind.END_TASKS, by=by, tasks=repeating.shortened(chosen))
    return chosen


def _open_array(job: Job) -> Job:
    row = Job.objects.select_for_update(of=("self",)).select_related("project").defer("script").get(pk=job.pk)
    if not (row.is_array and row.is_open):
        raise NotPossible(_("It has already ended."))
    return row


def under_way(sweep: Sweep, tasks: str | Iterable[int]) -> list[int]:
    """Which of these wait or run. Raises NotPossible where it is no list of tasks."""
    if isinstance(tasks, str):
        said = "".join(tasks.split())
        if "%" in said or not text.ARRAY.fullmatch(said) or len(said) > 2000:
            raise NotPossible(_("Write tasks as 3,5-7."))
        tasks = text.tasks(said)
    wanted = set(tasks)
    return [task.number for task in sweep.tasks if task.number in wanted and task.state in UNDER_WAY]


def table(sweep: Sweep, tasks: Sequence[Task]) -> list[list[Any]]:
    """Rows for a CSV, the head first."""
    head = ["task", "state", *sweep.parameters]
    head += [f"{name} {kind}" for name in sweep.values for kind in ("last", "best")]
    rows = [
        [task.number, task.state.value, *(task.parameters.get(name, "") for name in sweep.parameters),
         *(task.values.get(name, {}).get(kind, "") for name in sweep.values for kind in ("last", "best"))]
        for task in tasks
    ]  # fmt: skip
    return [head, *rows]
