"""All that is known of how a job ran: its request, and the notes it wrote on the node, kept or still in its folder."""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any

from jobs import advice, manifest, wrapping
from jobs.models import Job, Report, Run
from jobs.services import beside
from jobs.services.afterwards.telling import use_of
from logs.client import ReaderDown
from presets.services import environments

MOST_LINES = 400  # of a difference between two scripts


@dataclasses.dataclass(frozen=True, slots=True)
class Told:
    """`noted` says whether the node wrote anything down, `is_shell` whether it could have."""

    lines: list[manifest.Line]
    noted: bool
    is_shell: bool
    repositories: list[dict[str, Any]]
    use: advice.Use | None


def told(job: Job) -> Told:
    """Its manifest. The notes are the report's, and before that is made those in the log folder."""
    whole = Job.objects.select_related("project", "allocation").get(pk=job.pk)
    rows = Run.objects.filter(handover__job=job).order_by("handover__attempt", "restart_count")
    runs = list(rows.exclude(started_at=None)[:1000])
    found = notes(whole)
    ended = [run for run in runs if run.ended_at]
    return Told(
        lines=manifest.lines(whole, runs, found, environments.named(whole.asked.software)),
        noted=bool(found),
        is_shell=wrapping.is_shell(whole.script),
        repositories=list(found.get("repositories", ())),
        use=use_of(whole, ended[-1]) if ended else None,
    )


def notes(job: Job) -> dict[str, Any]:
    """What it wrote down at its start, {} where nothing is known of that."""
    kept = Report.objects.filter(job=job).values_list("notes", flat=True).first()
    if kept or not job.started_at:
        return dict(kept or {})
    try:
        return beside.notes(job)
    except ReaderDown:
        return {}


def script_differences(first: Job, second: Job) -> list[str]:
    """Lines as diff -u writes them; [] where the scripts are the same."""
    scripts = dict(Job.objects.filter(pk__in=[first.pk, second.pk]).values_list("pk", "script"))
    here, there = (scripts[job.pk].splitlines() for job in (first, second))
    lines = difflib.unified_diff(here, there, lineterm="", n=3)
    return [line for line in lines if not line.startswith(("---", "+++"))][:MOST_LINES]
