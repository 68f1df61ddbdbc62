"""Last and best values out of the outputs of an array's tasks, kept with their runs once they are over."""

from __future__ import annotations

from datetime import timedelta

import structlog
from django.utils import timezone

from access.compiled import update_all
from jobs import curves
from jobs.models import Run
from jobs.services import metrics, reading
from logs.client import BadTicket, ReaderDown

log = structlog.get_logger(__name__)
AT_ONCE = 50  # tasks of one bell
MOST = 4 * 1024 * 1024  # bytes of an output
LAST = timedelta(days=2)


def look_at_tasks() -> int:
    """Of tasks that ended lately; how many were looked at."""
    rows = Run.objects.filter(metrics_at=None, array_task__isnull=False, ended_at__gt=timezone.now() - LAST)
    runs = list(rows.exclude(ticket="").select_related("handover__job").order_by("ended_at")[:AT_ONCE])
    done = []
    for run in runs:
        try:
            run.metrics = _values(run)
        except ReaderDown as error:
            log.info("not looked into yet", why=str(error))
            break
        run.metrics_at = timezone.now()
        done.append(run)
    update_all(done, ("metrics", "metrics_at"))
    return len(done)


def _values(run: Run) -> dict[str, dict[str, float]]:
    try:
        data = reading.whole(run.ticket, "stdout", 0, MOST, "").data
    except BadTicket:
        return {}
    found = curves.parse(data, metrics.pattern_of(run.handover.job.project_id))
    return {
        name: {"last": curve.last.y, "best": curve.best.y}
        for name, curve in found.curves.items()
        if curve.last is not None and curve.best is not None
    }
