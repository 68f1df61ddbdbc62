"""Making exports: at once into the answer, or by the worker into a file, in parts that survive its death.

What is written down of progress never runs ahead of what is on the disk, and one advisory lock a row keeps two workers
off the same file. A worker that finds a row half done cuts the file back to what is written down, and goes on.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from access import bells
from audit import trail
from audit.actions import Action, Outcome
from audit.models.export import KEPT, Export, Form, State
from audit.services.exports import bundle
from audit.services.exports.asking import BELL, said
from audit.services.exports.pieces import pieces

log = structlog.get_logger(__name__)
LOCK = 0x6578706F  # "expo"
SLICE = 20.0  # seconds of work before other tasks of the queue have their turn
MOST_TRIES = 5


def streamed(row: Export, *, by: Any, project: Any = None) -> Iterator[bytes]:
    """A small export, as it is made. How it ended is an event, also where the one who asked went away."""
    digest, size, count, outcome = hashlib.sha256(), 0, 0, Outcome.FAILED
    try:
        for piece in pieces(row):
            digest.update(piece.data)
            size, count = size + len(piece.data), count + piece.count
            yield piece.data
        outcome = Outcome.DONE
    finally:
        row.count, row.size, row.digest, row.finished_at = count, size, digest.hexdigest(), timezone.now()
        row.state = State.STREAMED if outcome == Outcome.DONE else State.FAILED
        with transaction.atomic():
            row.save(update_fields=["count", "size", "digest", "finished_at", "state"])
            _exported(row, row.digest, by=by, project=project, outcome=outcome)


def work() -> int:
    """Go on with what is open, one slice; how many rows were worked at. Rings again where something is left."""
    end, worked = time.monotonic() + SLICE, 0
    for row in Export.objects.open().select_related("checkpoint"):
        if row.state == State.SIGNING and not row.signature:
            continue  # the sealer's turn
        with _alone(row) as mine:
            if mine:
                worked += 1
                _safely(row, end)
        if time.monotonic() >= end:
            bells.ring(BELL)
            break
    return worked


def sweep() -> int:
    """Delete files whose time is over; how many."""
    over = Export.objects.filter(state=State.READY, expires_at__lt=timezone.now())
    for row in over:
        row.path.unlink(missing_ok=True)
    return over.update(state=State.GONE)


@contextlib.contextmanager
def _alone(row: Export) -> Iterator[bool]:
    """Whether nobody else works at it; the lock goes with the connection, so a dead worker holds none."""
    number = row.pk.int & 0x7FFFFFFF
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK, number])
        mine = bool(cursor.fetchone()[0])
        try:
            yield mine
        finally:
            if mine:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [LOCK, number])


def _safely(row: Export, end: float) -> None:
    """A row that fails is tried again, and in the end given up in words."""
    row.refresh_from_db()
    try:
        if row.state in (State.WAITING, State.WRITING):
            _write(row, end)
        elif row.state == State.SIGNING and row.signature:
            _pack(row)
    except (OSError, DatabaseError) as error:
        log.error("export not made", export=str(row.pk), why=str(error))
        row.tries += 1
        if row.tries < MOST_TRIES:
            Export.objects.filter(pk=row.pk).update(tries=row.tries)
            return
        with transaction.atomic():
            Export.objects.filter(pk=row.pk).update(
                state=State.FAILED, tries=row.tries, error=type(error).__name__, finished_at=timezone.now()
            )
            _exported(row, "", outcome=Outcome.FAILED)
        row.part.unlink(missing_ok=True)


def _write(row: Export, end: float) -> None:
    """Append pieces until the slice or the export is over."""
    with _opened(row) as file:
        for piece in pieces(row, done=row.done if row.written else None):
            file.write(piece.data)
            file.flush()
            os.fsync(file.fileno())
            row.done, row.written, row.count = piece.upto, row.written + len(piece.data), row.count + piece.count
            row.state = State.WRITING
            row.save(update_fields=["done", "written", "count", "state"])
            if time.monotonic() >= end and row.done < row.last:
                return
    _written(row)


@contextlib.contextmanager
def _opened(row: Export) -> Iterator[Any]:
    """The file being written, cut back to what is written down; begun anew where it is shorter than that."""
    os.makedirs(settings.EXPORTS_FOLDER, mode=0o750, exist_ok=True)  # noqa: PTH103
    handle = os.open(row.part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o640)
    with os.fdopen(handle, "r+b") as file:
        if os.fstat(handle).st_size < row.written:
            row.done, row.written, row.count = row.after, 0, 0
        file.truncate(row.written)
        file.seek(row.written)
        yield file


def _written(row: Export) -> None:
    """All records are there: the file is ready, or, as the evidence of a bundle, waits for the sealer."""
    digest = digest_of(row.part)
    if row.form == Form.BUNDLE:
        row.manifest = bundle.manifest(row, digest)
        row.state = State.SIGNING
        with transaction.atomic():
            row.save(update_fields=["manifest", "state"])
            _exported(row, digest)
        return
    _ready(row, digest)


def _pack(row: Export) -> None:
    """The sealer has signed: evidence, manifest and what it takes to verify them become one file."""
    made = row.part.with_suffix(".zip-part")
    bundle.pack(row, made)
    made.replace(row.path)
    row.part.unlink(missing_ok=True)
    _finish(row, digest_of(row.path))


def _ready(row: Export, digest: str) -> None:
    row.part.replace(row.path)
    with transaction.atomic():
        _finish(row, digest)
        _exported(row, digest)


def _finish(row: Export, digest: str) -> None:
    row.state, row.digest, row.size = State.READY, digest, row.path.stat().st_size
    row.finished_at = timezone.now()
    row.expires_at = row.finished_at + KEPT
    row.save(update_fields=["state", "digest", "size", "finished_at", "expires_at"])


def _exported(row: Export, digest: str, *, by: Any = None, project: Any = None, outcome: str = Outcome.DONE) -> None:
    """The event that says what was given out; the sealer signs no manifest whose digest is not in one."""
    trail.record(
        Action.TRAIL_EXPORTED, by=by, about=row, project=project or _Project.of(row), outcome=Outcome(outcome),
        count=row.count, digest=digest, checkpoint=row.checkpoint_id, asker=row.asked_by_id, **said(row),
    )  # fmt: skip


class _Project:
    """The project of a row as the trail wants it; its model is in a room above."""

    def __init__(self, pk: int, code: str) -> None:
        self.pk, self.code = pk, code

    @classmethod
    def of(cls, row: Export) -> _Project | None:
        return None if row.project_id is None else cls(row.project_id, row.project_code)


def digest_of(path: Any) -> str:
    """SHA-256 of a file, in flat memory."""
    with open(path, "rb") as file:  # noqa: PTH123
        return hashlib.file_digest(file, "sha256").hexdigest()
