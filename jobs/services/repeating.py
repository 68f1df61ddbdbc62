"""Run a job again: the same request, as a new job of whoever asks; of an array, all of it or some of its tasks."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from access import gate
from access.permissions import Permission
from accounts.models import User
from audit import trail
from audit.actions import Action
from datasets import services as datasets
from datasets.services import NotPermitted
from jobs.models import Job
from jobs.services import asking, pace
from jobs.specs import BadSpec
from projects.models import Project
from quotas.services import OverAllocation
from slurm import text

OF_ITS_TIME = ("after", "begin")  # what it waited for then says nothing now


class NotAgain(Exception):
    """The same request cannot be made now; says why."""


def raw_of(job: Job) -> dict[str, Any]:
    """The request as a form or the API would bring it."""
    return {
        "name": job.name, "partition": job.partition, "gpu_type": job.gpu_type, "gpus": job.gpus, "nodes": job.nodes,
        "cpus": job.cpus, "memory_gb": max(1, job.memory_mb // 1024), "time_limit_minutes": job.time_limit_minutes or 1,
        "allocation": job.allocation.code if job.allocation else "", "script": job.script,
        "environment": dict(job.environment),
        "datasets": [f"{one['code']}@{one['version']}" for one in job.datasets],
    } | {name: value for name, value in job.options.items() if name not in OF_ITS_TIME}  # fmt: skip


def again(*, job: Job, by: User, tasks: Sequence[int] = ()) -> Job:
    """Ask for it; `tasks` of an array and no others. Raises NotAgain and access.errors.Denied."""
    whole = Job.objects.select_related("project", "allocation").get(pk=job.pk)
    project = gate.fetch(Project.objects, by, Permission.JOB_SUBMIT, pk=whole.project_id)
    raw = raw_of(whole)
    if tasks:
        raw |= some(raw, tasks)
    try:
        spec, allocation = asking.prepare(raw | {"preset": ""}, project=project)  # it was applied then
        spec = dataclasses.replace(spec, options=dataclasses.replace(spec.options, preset=whole.asked.preset))
        return _asked(whole, by=by, tasks=tasks, project=project, spec=spec, allocation=allocation)
    except (BadSpec, OverAllocation, NotPermitted, asking.NotNow) as error:
        raise NotAgain(str(error)) from error
    except pace.TooFast as error:
        raise NotAgain(error.words) from error


def _asked(of: Job, *, by: User, tasks: Sequence[int], **request: Any) -> Job:
    """The new job and of which it is the repetition, or neither."""
    project = request["project"]
    try:
        with transaction.atomic():
            made = asking.submit(**request, by=by)
            trail.record(Action.JOB_REPEATED, by=by, about=made, project=project, of=of.pk, tasks=shortened(tasks))
    except NotPermitted as refusal:  # it was told already, and taken back with the rest
        datasets.refused(reasons=refusal.reasons, wanted=request["spec"].datasets, project=project, by=by)
        raise
    return made


def some(raw: dict[str, Any], tasks: Sequence[int]) -> dict[str, Any]:
    """The array of these tasks alone, each with its own row of parameters."""
    numbers = text.tasks(raw.get("array") or "")
    wanted = [number for number in numbers if number in set(tasks)]
    if not wanted:
        raise NotAgain("none of these tasks is in the array")
    throttle = re.search(r"%\d+$", raw["array"])
    changed: dict[str, Any] = {"array": shortened(wanted) + (throttle.group() if throttle else "")}
    if raw.get("parameters"):
        rows = dict(zip(numbers, raw["parameters"], strict=False))
        changed["parameters"] = [rows[number] for number in wanted]
    return changed


def shortened(numbers: Sequence[int]) -> str:
    """1,2,3,7 as "1-3,7"."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)
