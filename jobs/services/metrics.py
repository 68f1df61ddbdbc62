"""The curves of a job: of the file that BANCADA_METRICS names, metrics.jsonl in its folder, or its output."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from django.db import transaction

from accounts.models import User
from audit import trail
from audit.actions import Action
from jobs import curves
from jobs.models import Job, MetricPattern
from jobs.services import beside, reading, recalling
from projects.models import Project

MOST = 12 * 1024 * 1024  # bytes of one source
PIECE = 4 * 1024 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """The curves, and where they were: "metrics" (a file), "output" (then a point's byte is a place in it) or ""."""

    curves: curves.Curves
    source: str
    is_whole: bool = True


def of(*, job: Job, by: User, task: int | None = None) -> Found:
    """The first source that has any; of a task of an array its own output, for the files are all tasks'.

    Raises ReaderDown; the person may read the output (reading.fetch).
    """
    if task is not None:
        return _of_output(job, by, task)
    row = beside.tickets(job)
    for which, skip in ((beside.METRICS, 0), (beside.FOLDER, _written_before(job))):
        data = beside.read(row, which, limit=PIECE, offset=skip)
        found = curves.parse(data) if data else None
        if found:
            reading.note(job=job, by=by)
            return Found(found, "metrics", is_whole=len(data) < PIECE)
    return _of_output(job, by, None)


def _written_before(job: Job) -> int:
    """The working directory is all jobs': what stood in its file at the start is another's."""
    said = recalling.notes(job).get("metrics", "")
    return int(said) if said.isdigit() else 0


def _of_output(job: Job, by: User, task: int | None) -> Found:
    found, at, form = curves.Curves(), 0, pattern_of(job.project_id)
    while at < MOST:
        chunk = reading.read(job=job, by=by, offset=at, limit=PIECE, task=task)
        if not chunk.data:
            break
        whole = chunk.data if at + len(chunk.data) >= chunk.size else chunk.data[: chunk.data.rfind(b"\n") + 1]
        whole = whole or chunk.data
        curves.parse(whole, form, into=found, start=at)
        at += len(whole)
        if at >= chunk.size:
            return Found(found, "output" if found else "")
    return Found(found, "output" if found else "", is_whole=at < MOST)


def pattern_of(project: int) -> re.Pattern[str] | None:
    """The project's way of printing its numbers, if it has one."""
    text = MetricPattern.objects.filter(project=project).values_list("text", flat=True).first()
    return curves.pattern(text) if text else None


@transaction.atomic
def set_pattern(*, project: Project, text: str, by: User) -> None:
    """ "" takes it away. Raises curves.BadPattern."""
    text = " ".join(text.split())
    if text:
        curves.pattern(text)
    earlier = MetricPattern.objects.filter(project=project).values_list("text", flat=True).first() or ""
    if text == earlier:
        return
    MetricPattern.objects.update_or_create(project=project, defaults={"text": text})
    trail.record(Action.METRICS_CHANGED, by=by, about=project, project=project, before=earlier, after=text)


def told(found: Found) -> dict[str, Any]:
    """As JSON for pages and the API: points are [x, y, byte]."""
    return {
        "source": found.source, "counted_by": found.curves.counted_by, "is_whole": found.is_whole,
        "curves": [
            {
                "name": curve.name, "less_is_better": curve.less_is_better, "seen": curve.seen,
                "last": curve.last and [curve.last.x, curve.last.y, curve.last.at],
                "best": curve.best and [curve.best.x, curve.best.y, curve.best.at],
                "points": [[point.x, point.y, point.at] for point in curve.drawn()],
            }
            for curve in found.curves.curves.values()
        ],
    }  # fmt: skip
