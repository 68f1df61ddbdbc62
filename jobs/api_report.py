"""The API of what is told of a job once it is over: used against asked, what its output shows, advice."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Schema

from accounts.models import User
from jobs.models import Run
from jobs.services import afterwards, reading

router = Router()


class UsedOut(Schema):
    """Of its last run: seconds, MB a node; null where it was not measured."""

    seconds: float
    limit_seconds: float | None
    cpus: int
    cpus_used: float | None
    memory_mb: int
    peak_memory_mb: float | None
    gpu_hours: float
    gpu_hours_asked: float | None


class FindingOut(Schema):
    """A failure that the output shows, and the line that shows it."""

    kind: str
    sentence: str
    hint: str
    stream: str
    line: int | None
    text: str


class TracebackOut(Schema):
    """Where the first traceback begins."""

    stream: str
    line: int


class AfterOut(Schema):
    """`over`: it has ended; `looked_into`: its output was; `used` is null where nothing ran."""

    over: bool
    looked_into: bool
    used: UsedOut | None = None
    advice: list[str] = []
    killed: str = ""
    findings: list[FindingOut] = []
    traceback: TracebackOut | None = None


@router.get("/{uuid:pk}/report", response=AfterOut, operation_id="job_report")
def job_report(request: HttpRequest, pk: UUID) -> dict[str, Any]:
    """What it used against what it asked for, the failures its output shows with their lines, what to ask for next."""
    job = reading.fetch(request.user, pk)
    runs = Run.objects.filter(handover__job=job).select_related("handover")
    found = afterwards.story(job, list(runs.order_by("handover__attempt", "restart_count")), may_read=True)
    if found is None:
        return {"over": False, "looked_into": False}
    reading.note(job=job, by=cast(User, request.user))
    return {
        "over": True, "looked_into": found.is_whole, "used": found.use, "advice": list(map(str, found.advice)),
        "killed": str(found.killed or ""), "traceback": found.traceback or None,
        "findings": [_finding(one) for one in found.findings],
    }  # fmt: skip


def _finding(one: dict[str, Any]) -> dict[str, Any]:
    said = {"kind": one["key"], "sentence": str(one["sentence"]), "hint": str(one["hint"])}
    return said | {name: one[name] for name in ("stream", "line", "text")}
