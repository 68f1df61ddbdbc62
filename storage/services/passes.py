"""Passes: the door asks for one by a row and a bell, waits a moment, and keeps it while it counts."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from access.bells import ring
from access.compiled import Fixed
from accounts.models import User
from files.client import TIMEOUT, Door
from projects.models import Project
from storage.models import FilePass

SIGN_FILES = "slurm.sign_files"
PATIENCE = 3.0  # seconds a page waits for the worker
LOOK = 0.05  # seconds between two looks
HASTE = 0.5  # seconds that who is only curious waits for the worker, and then for the door
AGAIN = timedelta(seconds=5)  # a bell nobody heard is rung anew


class NotReady(Exception):
    """The worker has not signed the pass yet; a moment later it may have."""


class NoPass(Exception):
    """The worker refused to sign; the message (English, translated where shown) says why."""


def _row(project: int, user: int) -> QuerySet[FilePass]:
    return FilePass.objects.filter(project=project, user=user)[:1]


_ROW = Fixed(_row)


def door(project: Project, user: User, *, write: bool = False, haste: float | None = None) -> Door:
    """A connection to the files' door as this person, beneath this project's folder; use it as a context manager.

    `haste`: seconds after which it is given up, for what can do without the answer. Raises NotReady, NoPass,
    files.client.DoorDown and files.answers.Refused.
    """
    signed = ticket(project, user, write=write, patience=PATIENCE if haste is None else haste)
    return Door(settings.FILES_SOCKET, signed, timeout=TIMEOUT if haste is None else haste)


def ticket(project: Project, user: User, *, write: bool = False, patience: float = PATIENCE) -> str:
    """The signed text of a pass that counts; asked for where there is none, and in time before it ends."""
    now = timezone.now()
    row = _ROW.first(project=project.pk, user=user.pk)
    if row is None or not row.counts(now, write=write):
        return _wait(project, user, _ask(row, project, user, now), patience, write=write)
    if not row.counts(now + timedelta(seconds=settings.FILE_TICKET_SECONDS) / 2, write=write) and not row.is_waiting:
        _ask(row, project, user, now)
    return str(row.ticket)


def _ask(row: FilePass | None, project: Project, user: User, now: datetime) -> datetime:
    """Note that it is wanted and wake the worker; gives since when it is."""
    if row is not None and row.is_waiting and now - row.asked_at < AGAIN:
        return row.asked_at
    if not FilePass.objects.filter(project=project, user=user).update(asked_at=now):
        FilePass.objects.bulk_create([FilePass(project=project, user=user, asked_at=now)], ignore_conflicts=True)
    ring(SIGN_FILES)
    return now


def _wait(project: Project, user: User, asked: datetime, patience: float, *, write: bool) -> str:
    until = time.monotonic() + patience
    while time.monotonic() < until:
        time.sleep(LOOK)
        row = _ROW.first(project=project.pk, user=user.pk)
        if row is None or row.answered_at is None or row.answered_at < asked:
            continue
        if row.counts(timezone.now(), write=write):
            return str(row.ticket)
        raise NoPass(row.refusal)
    raise NotReady
