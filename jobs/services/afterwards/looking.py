"""Look into the output of jobs that ended, through the ticket door as every reader does. By the worker."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import structlog
from django.utils import timezone

from jobs import failures
from jobs.models import Report
from jobs.services import beside, reading
from jobs.services.afterwards.measuring import tell
from jobs.states import State
from logs.client import BadTicket, ReaderDown

log = structlog.get_logger(__name__)
TAIL = 256 * 1024  # bytes of each stream that are looked at
AT_ONCE = 20  # jobs of one bell: others wait for the same worker
PATIENCE = timedelta(days=1)
TRACEBACK = b"Traceback (most recent call last)"
GOOD = (State.COMPLETED, State.CANCELLED)  # nothing is looked for in their outputs


def look_back() -> int:
    """Make the reports that wait, oldest first; how many were made. Without the log reader they go on waiting."""
    rows = Report.objects.filter(read_at=None).select_related("job__project").order_by("due_at")[:AT_ONCE]
    made = 0
    for report in rows:
        try:
            _look(report)
        except ReaderDown as error:
            log.info("not looked into yet", why=str(error))
            if report.due_at > timezone.now() - PATIENCE:
                break
            report.log_state = "failed"
        _keep(report)
        made += 1
    return made


def _keep(report: Report) -> None:
    """Unless the job ran again meanwhile."""
    report.read_at = timezone.now()
    kept = {name: getattr(report, name) for name in ("read_at", "log_state", "findings", "traceback", "notes")}
    if Report.objects.filter(pk=report.pk, due_at=report.due_at).update(**kept):
        tell({report.job_id})


def _look(report: Report) -> None:
    """Put what the output shows on the report (not saved)."""
    report.findings, report.traceback = [], {}
    report.notes = beside.notes(report.job) or report.notes
    held, report.log_state = reading.ticket(report.job)
    if not held or State(report.job.state) in GOOD:
        return
    for stream in ("stderr", "stdout"):
        try:
            _look_at(report, held, stream)
        except BadTicket:
            report.log_state = reading.DENIED


def _look_at(report: Report, held: str, stream: str) -> None:
    """Errors that go where the output goes have no stream of their own: the reader says "joined"."""
    tail = reading.reader().tail(held, stream, TAIL)
    if stream == "stdout":
        report.log_state = tail.state
    if tail.state != "open":
        return
    kept = {one["key"] for one in report.findings}
    for shown in failures.look(tail.data):
        if shown.key not in kept:
            report.findings.append(_placed(held, stream, tail.offset + shown.offset, shown))
    report.findings = report.findings[: failures.AT_MOST]
    if not report.traceback:
        report.traceback = _first_traceback(held, stream)


def _placed(held: str, stream: str, offset: int, shown: failures.Shown) -> dict[str, Any]:
    place = reading.reader().line_at(held, stream, offset)
    line = place.line if place.complete else None
    return {"key": shown.key, "stream": stream, "line": line, "offset": offset, "text": shown.text.replace("\0", "")}


def _first_traceback(held: str, stream: str) -> dict[str, Any]:
    """The first of the file: what follows it is often only its echo."""
    found = reading.reader().find(held, stream, TRACEBACK, limit=1)
    return {"stream": stream, "line": found.matches[0][0], "offset": found.matches[0][1]} if found.matches else {}
