"""An array asked for here: one job of many tasks. Each task keeps runs of its own; the job is their honest summary."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.utils import timezone

from cluster.models import Cluster
from jobs.models import Handover, Phase, Run
from jobs.services import booking, recording
from jobs.states import State, from_slurm, is_over
from slurm.contract import JobRecord

Key = tuple[int, int | None, datetime, int]
_FACTS = (
    "slurm_states", "started_at", "ended_at", "node_list", "cpus", "memory_mb", "gpus", "gpu_types", "exit_code",
    "exit_signal", "own_id",
)  # fmt: skip
UNKNOWN = "UNKNOWN"  # no word of Slurm's
RUNNING = (State.RUNNING, State.ENDING, State.SUSPENDED)
WAITING = (State.WAITING, State.REQUEUED, State.HELD)
_WORDS = {
    State.RUNNING: "RUNNING", State.ENDING: "COMPLETING", State.SUSPENDED: "SUSPENDED", State.REQUEUED: "REQUEUED",
    State.COMPLETED: "COMPLETED", State.FAILED: "FAILED", State.TIMEOUT: "TIMEOUT", State.CANCELLED: "CANCELLED",
    State.OUT_OF_MEMORY: "OUT_OF_MEMORY", State.NODE_FAILURE: "NODE_FAIL", State.PREEMPTED: "PREEMPTED",
    State.UNKNOWN: "FAILED",
}  # fmt: skip


class Look(NamedTuple):
    """What became of one array: all tasks together as one record, and how many are in which state."""

    handover: Handover
    record: JobRecord
    counts: dict[str, int]
    complete: bool  # every task is shown, or known to be over


def look(cluster: Cluster, records: Mapping[Key, JobRecord]) -> tuple[list[Look], set[Key]]:
    """Keep what Slurm shows of the tasks of our arrays; each as it stands now, and the keys that are theirs."""
    tasks: dict[int, list[Key]] = defaultdict(list)
    for key, record in records.items():
        if record.array_task is not None:
            tasks[record.job_id].append(key)
    rows = Handover.objects.filter(cluster=cluster, slurm_job_id__in=tasks, job__options__has_key="array")
    found, theirs = [], set[Key]()
    for row in rows.select_related("job").defer("job__script", "job__environment") if tasks else ():
        own = [key for key in tasks[row.slurm_job_id or 0] if is_task(row, records[key])]
        theirs.update(own)
        shown = [records[key] for key in own]
        if shown and not (row.job.phase == Phase.ENDED and all(is_over(record.states) for record in shown)):
            found.append(observe(row, shown))
    return found, theirs


def is_task(row: Handover, record: JobRecord) -> bool:
    """Whether this is one of the array's tasks, or its rest. A requeue moves the submit time of one task."""
    if row.submit_time is None or record.uid != row.uid:
        return False
    return record.submit_time == row.submit_time or (record.submit_time > row.submit_time and record.restart_count > 0)


def observe(row: Handover, shown: Iterable[JobRecord]) -> Look:
    """Keep the runs of these tasks, and put all that is known of the array together."""
    last = {run.array_task: run for run in row.runs.order_by("restart_count")}
    _keep(row, [record for record in shown if _has_run(record)], last)
    now = {record.array_task: record for record in shown}
    numbers = row.job.asked.task_numbers
    states = {task: _state(now.get(task), last.get(task)) for task in numbers}
    counts = dict(Counter(str(state.value) for state in states.values() if state))
    known = all(state is not None for state in states.values())
    record = _together(row, states, [now[task] for task in numbers if task in now], [*last.values()])
    return Look(row, record, {"total": len(numbers), **counts}, known)


def _has_run(record: JobRecord) -> bool:
    """It has started, or ended without a start."""
    return is_over(record.states) or (record.start_time is not None and "PENDING" not in record.states)


def _state(record: JobRecord | None, run: Run | None) -> State | None:
    """None: Slurm does not show the task, and no end of it is known."""
    if record is not None:
        return from_slurm(record.states, record.reason)
    return from_slurm(run.slurm_states) if run is not None and run.ended_at is not None else None


def _keep(row: Handover, records: Iterable[JobRecord], last: dict[int | None, Run]) -> None:
    """Write what is new, and put it into `last`; what has ended is booked."""
    changed, requeued = list[Run](), list[Run]()
    for record in records:
        before = last.get(record.array_task)
        run = Run(
            handover=row, array_task=record.array_task, restart_count=record.restart_count,
            own_id=record.own_id or (before.own_id if before else None), **recording.facts(record),
        )  # fmt: skip
        if before is not None and before.restart_count < record.restart_count and before.ended_at is None:
            before.slurm_states, before.ended_at = ["REQUEUED"], record.submit_time
            requeued.append(before)
        same = before is not None and before.restart_count == record.restart_count
        if same and all(getattr(before, name) == getattr(run, name) for name in _FACTS):
            continue
        if same and before is not None:
            run.pk = before.pk
        last[record.array_task] = run
        changed.append(run)
    Run.objects.bulk_update(requeued, ["slurm_states", "ended_at"])
    Run.objects.bulk_create(
        changed, update_conflicts=True, unique_fields=["handover", "array_task", "restart_count"],
        update_fields=_FACTS,
    )  # fmt: skip
    booking.book_runs([run.pk for run in [*changed, *requeued] if run.ended_at is not None])


def _together(row: Handover, states: Mapping[int, State | None], shown: list[JobRecord], runs: list[Run]) -> JobRecord:
    state = summary(states.values())
    waiting = next((one.reason for one in shown if "PENDING" in one.states), "")
    starts = [run.started_at for run in runs if run.started_at]
    ends = [run.ended_at for run in runs if run.ended_at]
    running = [one for one in shown if from_slurm(one.states) in RUNNING]
    codes = [run.exit_code for run in runs if run.exit_code]
    plans = [one.expected_start_time for one in shown if one.expected_start_time and "PENDING" in one.states]
    return JobRecord(
        job_id=row.slurm_job_id or 0, submit_time=row.submit_time or timezone.now(), uid=row.uid or 0,
        states=frozenset({_WORDS.get(state, "PENDING" if state in WAITING else "UNKNOWN")}),
        account="", partition=row.job.partition, array=row.job.asked.array,
        reason="" if state in RUNNING else waiting, start_time=min(starts, default=None),
        end_time=max(ends, default=None), nodes=",".join(sorted({one.nodes for one in running})),
        gpus=sum(one.gpus for one in running), exit_code=max(codes, default=0 if state == State.COMPLETED else None),
        exit_signal=next((run.exit_signal for run in runs if run.exit_signal), None),
        expected_start_time=None if state in RUNNING else min(plans, default=None),
    )  # fmt: skip


def summary(states: Iterable[State | None]) -> State:
    """One word for all tasks: what goes on while something does; at the end completed only if all completed.

    A task nobody knows the end of yet keeps the array waiting.
    """
    found = set(states)
    for group in (RUNNING, WAITING):
        for state in group:
            if state in found:
                return state
    if None in found or not found:
        return State.WAITING
    bad = {state for state in found if state is not None} - {State.COMPLETED}
    if not bad:
        return State.COMPLETED
    return bad.pop() if len(bad) == 1 else State.FAILED


def from_accounting(row: Handover, records: Iterable[JobRecord], *, certain: bool) -> Look:
    """The ends slurmdbd knows of tasks slurmctld shows no more. A row without a task's number stands for those that
    never started. `certain`: what neither knows is unknown for good.
    """
    ended = [record for record in records if is_over(record.states)]
    rest = next((record for record in ended if record.array_task is None), None)
    single = {record.array_task: record for record in sorted(ended, key=lambda one: one.restart_count)}
    found = [record for task, record in single.items() if task is not None]
    known = set(single) | set(row.runs.exclude(ended_at=None).values_list("array_task", flat=True))
    left = [task for task in row.job.asked.task_numbers if task not in known]
    if rest is not None:
        found += [dataclasses.replace(rest, array_task=task, start_time=None, gpus=0) for task in left]
    elif certain:
        _give_up(row, left)
    return observe(row, found)


def _give_up(row: Handover, tasks: list[int]) -> None:
    """Neither daemon knows what became of these."""
    now = timezone.now()
    under_way = row.runs.filter(array_task__in=tasks, ended_at=None)
    begun = set(under_way.values_list("array_task", flat=True))
    under_way.update(slurm_states=[UNKNOWN], ended_at=now)
    never = [task for task in tasks if task not in begun]
    Run.objects.bulk_create(Run(handover=row, array_task=task, slurm_states=[UNKNOWN], ended_at=now) for task in never)


def last_runs(job: UUID) -> list[Run]:
    """The latest run of each task that has started or ended, by its number."""
    runs = Run.objects.filter(handover__job=job).exclude(array_task=None)
    return list(runs.order_by("array_task", "-restart_count").distinct("array_task"))
