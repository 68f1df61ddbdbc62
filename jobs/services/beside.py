"""What a job writes beside its output, read through the same door: notes of its start, and metrics."""

from __future__ import annotations

from typing import Any

from jobs import notes as form
from jobs import wrapping
from jobs.models import Handover, HandoverOutcome, Job
from jobs.services import reading
from logs.client import BadTicket

NOTES, METRICS, FOLDER = ("notes_ticket", "stdout"), ("notes_ticket", "stderr"), ("folder_ticket", "stdout")


def tickets(job: Job) -> Handover | None:
    """The latest accepted hand-over with its tickets."""
    rows = Handover.objects.filter(job=job, outcome=HandoverOutcome.ACCEPTED).order_by("-attempt")
    return rows.only("notes_ticket", "folder_ticket").first()


def read(row: Handover | None, which: tuple[str, str], *, limit: int, offset: int = 0) -> bytes:
    """Up to `limit` bytes; b"" where there is no such file. Raises ReaderDown."""
    held = getattr(row, which[0]) if row is not None else ""
    if not held:
        return b""
    try:
        return reading.whole(held, which[1], offset, limit, "").data
    except BadTicket:
        return b""


def notes(job: Job) -> dict[str, Any]:
    """What the job wrote down at its start; {} where it did not. Raises ReaderDown."""
    data = read(tickets(job), NOTES, limit=wrapping.MOST)
    return form.parse(data) if data else {}
