"""Signed permissions to read one job's output: made by the worker from the record Slurm accepted."""

from __future__ import annotations

import dataclasses
import posixpath
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import F, Max, Q
from django.utils import timezone

from access.compiled import update_all
from jobs import code, wrapping
from jobs.models import Handover, HandoverOutcome, Run
from logs import tickets as log_tickets

if TYPE_CHECKING:  # only the worker signs
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SIGNED = ("ticket", "notes_ticket", "folder_ticket", "ticket_expires_at", "ticket_restart_count")
RENEW_BEFORE = timedelta(days=14)


@cache
def signing_key() -> Ed25519PrivateKey:
    """The private key, read once; only the worker has it."""
    from logs import keys

    return keys.load_private(Path(settings.TICKET_KEY_FILE))


def sign(handover: Handover, *, login: str, restart_count: int = 0) -> None:
    """Put a fresh ticket on the row (not saved); none where the output lies outside the project's folder."""
    if not settings.TICKET_KEY_FILE:
        return
    expires = timezone.now() + timedelta(days=settings.TICKET_DAYS)
    handover.ticket_expires_at, handover.ticket_restart_count = expires, restart_count
    if not within(handover.stdout_path, handover.job.project.folder):
        handover.ticket = ""  # with a date, so that those that can be signed need not wait behind it
        return
    from logs import keys

    stderr = handover.stderr_path if within(handover.stderr_path, handover.job.project.folder) else ""
    ticket = log_tickets.Ticket(
        cluster=handover.job.cluster.name, job_id=handover.slurm_job_id or 0, uid=handover.uid or 0, user=login,
        submit_time=int(handover.submit_time.timestamp()) if handover.submit_time else 0,
        stdout=handover.stdout_path, stderr=stderr, restart_count=restart_count,
        not_after=int(expires.timestamp()), key_id=keys.key_id(signing_key()),
    )  # fmt: skip
    handover.ticket = log_tickets.sign(ticket, signing_key())
    if not handover.job.is_outside:
        _sign_beside(handover, ticket)
    Run.objects.filter(handover=handover).exclude(ticket="").update(ticket="")  # those of tasks grow old with it


def _sign_beside(handover: Handover, ticket: log_tickets.Ticket) -> None:
    """For what it writes beside its output: notes and metrics in the log folder, metrics in the working directory."""
    folder, number = handover.job.project.folder, str(handover.slurm_job_id)
    beside = {
        "notes_ticket": (
            wrapping.notes_path(folder, handover.job_id).replace("$n", number),
            wrapping.metrics_path(folder, handover.job_id),
        ),
        "folder_ticket": (f"{_start(handover)}/metrics.jsonl", ""),
    }
    for name, (first, second) in beside.items():
        if within(first, folder):
            signed = log_tickets.sign(dataclasses.replace(ticket, stdout=first, stderr=second), signing_key())
            setattr(handover, name, signed)


def _start(handover: Handover) -> str:
    """Where the script goes on: in the code it fetched, or where Slurm starts it."""
    job = handover.job
    return f"{job.project.folder}/{code.place(job.pk)}" if job.asked.git else handover.working_directory.rstrip("/")


def within(path: str, folder: str) -> bool:
    """Whether a path, as written, lies in the folder."""
    return bool(path) and posixpath.normpath(path) == path and path.startswith(folder.rstrip("/") + "/")


def renew(limit: int = 500) -> int:
    """Sign anew what started again or expires soon; returns how many."""
    soon = timezone.now() + RENEW_BEFORE
    stale = Q(ticket_expires_at=None) | Q(ticket_expires_at__lt=soon) | Q(ticket_restart_count__lt=F("latest"))
    rows = (
        Handover.objects.filter(outcome=HandoverOutcome.ACCEPTED)
        .annotate(latest=Max("runs__restart_count"))
        .filter(stale)
        .select_related("job__project", "job__cluster")[:limit]
    )
    for handover in rows:
        sign(handover, login=handover.job.owner_login, restart_count=handover.latest or 0)
        handover.save(update_fields=SIGNED)
    return len(rows)


def sign_tasks(limit: int = 1000) -> int:
    """Each task of an array writes a file of its own: a ticket for each that has started; returns how many."""
    if not settings.TICKET_KEY_FILE:
        return 0
    rows = Run.objects.filter(ticket="", array_task__isnull=False, started_at__isnull=False)
    rows = rows.filter(handover__job__options__has_key="array", handover__ticket__gt="")
    runs = list(rows.select_related("handover__job__project", "handover__job__cluster").order_by("-pk")[:limit])
    for run in runs:
        run.ticket = _of_task(run)
    update_all(runs, ("ticket",))
    return len(runs)


def _of_task(run: Run) -> str:
    ticket = log_tickets.peek(run.handover.ticket)
    stdout, stderr = (path.replace("%a", str(run.array_task)) for path in (ticket.stdout, ticket.stderr))
    return log_tickets.sign(
        dataclasses.replace(ticket, stdout=stdout, stderr=stderr, restart_count=run.restart_count), signing_key()
    )
