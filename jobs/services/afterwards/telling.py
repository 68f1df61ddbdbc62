"""What a page tells of a job that is over: used against asked, advice, what its output shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jobs import advice, failures
from jobs.models import Job, Report, Run
from jobs.states import State

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text


@dataclasses.dataclass(frozen=True, slots=True)
class Story:
    """`use` is None where nothing ran; findings and traceback only for who may read the output."""

    use: advice.Use | None
    advice: list[Text]
    killed: Text | None
    findings: list[dict[str, Any]]
    traceback: dict[str, Any]
    is_whole: bool  # the output was looked into
    is_measured: bool


def story(job: Job, runs: Sequence[Run], *, may_read: bool) -> Story | None:
    """None while it is not over."""
    if job.ended_at is None:
        return None
    ran = [run for run in runs if run.started_at and run.ended_at]
    use = use_of(job, ran[-1]) if ran else None
    report = Report.objects.filter(job=job).first() if may_read else None
    return Story(
        use=use,
        advice=advice.advise(use) if use else [],
        killed=advice.killed_for(job.exit_signal, job.exit_code, use) if use else None,
        findings=failures.told(report.findings) if report else [],
        traceback=report.traceback if report else {},
        is_whole=report is not None and report.read_at is not None,
        is_measured=bool(ran) and ran[-1].measured_at is not None,
    )


def use_of(job: Job, run: Run) -> advice.Use:
    """One run's numbers; memory for a node, as it was asked for."""
    seconds = (run.ended_at - run.started_at).total_seconds() if run.ended_at and run.started_at else 0.0
    return advice.Use(
        state=State(job.state),
        seconds=max(0.0, seconds),
        limit_seconds=job.time_limit_minutes * 60 if job.time_limit_minutes else None,
        cpus=run.cpus,
        cpu_seconds=run.cpu_seconds,
        memory_mb=job.memory_mb,
        peak_memory_mb=run.peak_memory_mb,
        gpus=run.gpus,
    )
