"""A job's output, read by whoever may: pages, API, download and socket all come through here.

What is recorded: another person's reading once per job and hour (a page that polls is one reading), each download
always, also the owner's. The event is written after the bytes came and before anybody gets them.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from access import gate
from access.compiled import Fixed
from access.errors import NotFound
from access.permissions import Permission
from accounts.models import User
from audit import trail
from audit.actions import Action
from audit.models import AuditEvent
from jobs.models import Handover, HandoverOutcome, Job, Run
from jobs.services import data, shapes
from logs.chunks import MAX_DATA, Chunk
from logs.client import BadTicket, Found, NotReadable, Place, Reader, ReaderDown

__all__ = ["BadTicket", "Chunk", "Download", "Found", "NotReadable", "Place", "ReaderDown"]

MOST = 4 * 1024 * 1024  # bytes of one answer
SAME_READING = timedelta(hours=1)
# Beside the reader's own states (open, missing, gone, denied, not-regular, not-owner, joined, failed, busy):
WAITING = "waiting"  # Slurm has not accepted the job yet, so there is no output to name
MISSING, DENIED = "missing", "denied"


def _accepted(job: UUID) -> QuerySet[Handover]:
    rows = Handover.objects.filter(job=job, outcome=HandoverOutcome.ACCEPTED)
    return rows.order_by("-attempt").only("ticket")[:1]


ACCEPTED = Fixed(_accepted)


@cache
def reader() -> Reader:
    """The process's one client of the log reader."""
    return Reader(settings.READER_SOCKET)


def fetch(user: gate.Person, pk: str | UUID) -> Job:
    """The job whose output the person may read; raises NotFound or Refused."""
    try:
        key = UUID(str(pk))
    except ValueError:
        raise NotFound(Permission.LOG_READ, Job._meta.label_lower, {"pk": pk}) from None
    job = shapes.LIGHT.fetch(user, Permission.LOG_READ, pk=key)
    data.may_read(job, user)
    return job


def fetch_to_take(user: gate.Person, pk: str | UUID) -> Job:
    """The same, of an output that may also leave the portal: by download, or to a program."""
    job = fetch(user, pk)
    data.may_take(job, user)
    return job


def ticket(job: Job, task: int | None = None) -> tuple[str, str]:
    """(ticket, "open") of the latest accepted hand-over, or ("", why there is none); `task` of an array: its own."""
    if task is not None:
        runs = Run.objects.filter(handover__job=job, array_task=task).order_by("-handover__attempt", "-restart_count")
        held = runs.values_list("ticket", flat=True).first()
        return held or "", "open" if held else WAITING if job.is_open else MISSING
    accepted = ACCEPTED.first(job=job.pk)
    if accepted is None:
        return "", WAITING if job.is_open else MISSING
    return accepted.ticket, "open" if accepted.ticket else DENIED


def read(
    *, job: Job, by: User, stream: str = "stdout", offset: int = 0, limit: int = 64 * 1024, generation: str = "",
    task: int | None = None,
) -> Chunk:  # fmt: skip
    """Up to `limit` (4 MiB at most) bytes at `offset`; a negative one counts from the end. Raises ReaderDown.

    `state` of the answer says what there is; only "open" carries bytes.
    """
    held, state = ticket(job, task)
    if not held:
        return _nothing(state)
    try:
        chunk = whole(held, stream, offset, min(limit, MOST), generation)
    except BadTicket:
        return _nothing(DENIED)
    note(job=job, by=by)
    return chunk


def tail(*, job: Job, by: User, stream: str = "stdout", limit: int = 64 * 1024) -> Chunk:
    """The last `limit` bytes."""
    return read(job=job, by=by, stream=stream, offset=-limit, limit=limit)


def find(
    *, job: Job, by: User, stream: str, query: str, after: int = 0, ignore_case: bool = True, limit: int = 100,
    task: int | None = None,
) -> Found:  # fmt: skip
    """Lines that hold `query` (1 to 1024 bytes, one line); ValueError where it cannot be searched for."""
    held, state = ticket(job, task)
    if not held:
        return Found((), after, complete=True, state=state, generation="")
    try:
        found = reader().find(held, stream, query, after=after, ignore_case=ignore_case, limit=limit)
    except BadTicket:
        return Found((), after, complete=True, state=DENIED, generation="")
    note(job=job, by=by)
    return found


def line(
    *, job: Job, by: User, stream: str, number: int = 0, offset: int = 0, task: int | None = None
) -> Place:  # fmt: skip
    """Where line `number` (from 1) begins, or, without one, which line the byte at `offset` stands in."""
    held, state = ticket(job, task)
    if not held:
        return Place(0, 0, complete=True, state=state, generation="")
    try:
        place = reader().line(held, stream, number) if number else reader().line_at(held, stream, offset)
    except BadTicket:
        return Place(0, 0, complete=True, state=DENIED, generation="")
    note(job=job, by=by)
    return place


@dataclasses.dataclass
class Download:
    """A whole output as long as it is now: iterate once, then close (a streaming response does both)."""

    chunk: Chunk
    pieces: Iterator[bytes]
    held: contextlib.ExitStack

    def __iter__(self) -> Iterator[bytes]:
        return self.pieces

    def close(self) -> None:
        """Let go of the connection."""
        self.held.close()


def download(*, job: Job, by: User, stream: str = "stdout", task: int | None = None) -> Download:
    """The whole output, piece by piece; raises NotReadable (its `state` says why) or ReaderDown."""
    held, state = ticket(job, task)
    if not held:
        raise NotReadable(state)
    with contextlib.ExitStack() as stack:
        try:
            chunk, pieces = stack.enter_context(reader().stream_download(held, stream))
        except BadTicket as error:
            raise NotReadable(DENIED) from error
        trail.record(Action.LOG_DOWNLOADED, by=by, about=job, project=job.project, stream=stream, bytes=chunk.size)
        return Download(chunk, pieces, stack.pop_all())


def note(*, job: Job, by: User) -> None:
    """Record that somebody else than the owner reads this output, unless that is in the trail within the hour."""
    if job.owner_id == by.pk:
        return
    since = timezone.now() - SAME_READING
    earlier = AuditEvent.objects.about("job", job.pk).filter(actor_id=by.pk, action=Action.LOG_READ, at__gt=since)
    if not earlier.exists():
        trail.record(Action.LOG_READ, by=by, about=job, project=job.project, owner=trail.Login(job.owner_login))


def _nothing(state: str) -> Chunk:
    return Chunk(data=b"", offset=0, size=0, generation="", state=state, age=0.0)


def whole(held: str, stream: str, offset: int, limit: int, generation: str) -> Chunk:
    """One answer of several asked of the reader, which gives 1 MiB at a time; all of one writing of the file."""
    first = reader().read(held, stream, offset, min(limit, MAX_DATA), generation=generation)
    parts, got = [first.data], len(first.data)
    while first.data and got < limit and first.offset + got < first.size:
        more = reader().read(held, stream, first.offset + got, min(limit - got, MAX_DATA), generation=first.generation)
        if not more.data or more.offset != first.offset + got:
            break
        parts.append(more.data)
        got += len(more.data)
    return first if len(parts) == 1 else dataclasses.replace(first, data=b"".join(parts))
