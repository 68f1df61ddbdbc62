"""The end of an upload: all its bytes are read for their SHA-256, it gets its name, the trail hears of it once.

That may take longer than anybody waits for an answer. So a request that has waited for PATIENCE leaves the rest to a
thread and says how far it is; who asks again hears of it, by a row that all processes see, until it is done. Where a
process dies its row falls silent, and who asks next begins again; what was read already is not read twice.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import re
import threading
import time
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import structlog
from django.db import IntegrityError, connections, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from access import gate
from access.permissions import Permission
from accounts.models import User
from audit.actions import Action
from files.answers import Refused
from files.client import Door, DoorDown
from files.names import shown
from projects.models import Project
from storage.models import Upload
from storage.services import pace, passes
from storage.services.acts import act

log = structlog.get_logger(__name__)
PATIENCE = 5.0  # seconds a request waits
BEAT = 2.0  # seconds between two signs of life in the row
SILENT = timedelta(seconds=30)  # after which nobody is at work on it: longer than the door may be silent
KEPT = timedelta(days=7)
_NAME = re.compile(r"[0-9a-f]{32}")


@dataclasses.dataclass(frozen=True, slots=True)
class Stored:
    """It has its name."""

    size: int
    digest: str


@dataclasses.dataclass(frozen=True, slots=True)
class Checking:
    """So many of its bytes are read; ask again in a moment."""

    checked: int
    size: int


def finish(
    *, project: Project, by: User, path: str, upload: str, size: int, digest: str = "", overwrite: bool = False,
    patience: float | None = None,
) -> Stored | Checking:  # fmt: skip
    """Give the upload its name; `patience`: seconds (None: PATIENCE). Raises what `passes.door` does, and Refused."""
    if not _NAME.fullmatch(upload):
        raise Refused("bad-request")
    row = Upload.objects.filter(project=project, user=by, name=upload).first()
    if row and (row.path != shown(path) or row.size != size or (digest and row.digest not in ("", digest))):
        raise Refused("bad-request")
    if row and (known := _known(row)):
        return known
    try:
        pace.checks.take(by.pk)
    except pace.TooMany:
        return Checking(row.checked if row else 0, size)
    mine = False
    try:
        row = row or Upload(project=project, user=by, name=upload, path=shown(path), size=size)
        row.project, row.user = project, by
        mine = _claim(row)
    finally:
        if not mine:
            pace.checks.leave(by.pk)
    if not mine:
        return Checking(row.checked, size)
    return _Work(row, path, digest, overwrite=overwrite).go(PATIENCE if patience is None else patience)


def forget(project: Project, by: User, upload: str) -> None:
    """What was known of an upload that begins anew under its name."""
    Upload.objects.filter(project=project, user=by, name=upload, ended_at__isnull=False).delete()


def _known(row: Upload) -> Stored | Checking | None:
    """What came of it already, or who is at work on it; None where nobody is. A refusal is told once."""
    if row.ended_at:
        return Stored(row.size, row.digest)
    if row.refusal:
        _of(row).update(refusal="")
        raise Refused(row.refusal)
    if row.beat_at and row.beat_at > timezone.now() - SILENT:
        return Checking(row.checked, row.size)
    return None


def _of(row: Upload) -> QuerySet[Upload]:
    return Upload.objects.filter(pk=row.pk, ended_at=None)


def _claim(row: Upload) -> bool:
    """Whether it is ours to work on: no two are at one."""
    now = timezone.now()
    if row.pk:
        silent = Q(beat_at=None) | Q(beat_at__lt=now - SILENT)
        return bool(_of(row).filter(silent, refusal="").update(beat_at=now))
    row.beat_at = row.asked_at = now
    try:
        with transaction.atomic():
            Upload.objects.filter(user=row.user, asked_at__lt=now - KEPT).delete()
            row.save()
    except IntegrityError:
        return False
    return True


class _Work:
    """One upload on its way to its name."""

    def __init__(self, row: Upload, path: str, digest: str, *, overwrite: bool) -> None:
        self._row, self._path, self._digest, self._overwrite = row, path, digest, overwrite
        self._is_left = False  # to a thread

    def go(self, patience: float) -> Stored | Checking:
        """To its end, or, where that takes longer, to where a thread goes on."""
        until, steps = time.monotonic() + patience, self._steps()
        try:
            for checked in steps:
                if time.monotonic() >= until:
                    self._leave(steps)
                    return Checking(checked, self._row.size)
        except BaseException:
            self._let_go()
            raise
        pace.checks.leave(self._row.user.pk)
        return Stored(self._row.size, self._row.digest)

    def _leave(self, steps: Generator[int, None, None]) -> None:
        self._is_left = True
        request = contextvars.copy_context()  # the trail tells whose it was
        threading.Thread(target=request.run, args=(self._go_on, steps), daemon=True).start()

    def _go_on(self, steps: Generator[int, None, None]) -> None:
        refusal, beat = "", 0.0
        try:
            for checked in steps:
                if time.monotonic() >= beat:
                    _of(self._row).update(checked=checked, beat_at=timezone.now())
                    beat = time.monotonic() + BEAT
        except Refused as error:
            refusal = error.answer
        except DoorDown:
            pass  # who asks again tries again
        except Exception:
            log.exception("an upload did not get its name")
            refusal = "failed"
        finally:
            try:
                self._let_go(refusal)
            finally:
                connections.close_all()

    def _let_go(self, refusal: str = "") -> None:
        pace.checks.leave(self._row.user.pk)
        _of(self._row).update(beat_at=None, refusal=refusal)

    def _steps(self) -> Generator[int, None, None]:
        """Each says how many bytes are read."""
        row, act_of = self._row, Action.FILE_UPLOADED
        with act(act_of, row.project, row.user, self._path, first=self._end, size=row.size) as (door, told):
            if row.stamp and (named := self._named_again(door)):
                told |= named
                return
            checked = yield from door.check(
                self._path, row.name, row.size, digest=self._digest, overwrite=self._overwrite
            )
            row.digest, row.stamp = checked.digest, checked.stamp
            _of(row).update(digest=row.digest, stamp=row.stamp, beat_at=timezone.now())
            told |= self._named(door)

    def _end(self) -> bool:
        """Whether nobody ended it before."""
        return bool(_of(self._row).update(ended_at=timezone.now(), beat_at=None))

    def _named_again(self, door: Door) -> dict[str, Any] | None:
        """What was read before gets its name; None where it became another since."""
        try:
            return self._named(door)
        except Refused as error:
            if error.answer != "changed":
                raise
            return None

    def _named(self, door: Door) -> dict[str, Any]:
        row = self._row
        with self._door_anew() if self._is_left else contextlib.nullcontext(door) as asked:
            _, replaced = asked.finish(self._path, row.name, row.stamp, overwrite=self._overwrite)
        return {"digest": row.digest, "replaced": replaced}

    def _door_anew(self) -> Door:
        """With rights and a pass of now: reading it all may have taken longer than either holds."""
        person = User.objects.get(pk=self._row.user.pk)
        if not gate.can(self._row.project, person, Permission.JOB_SUBMIT):
            raise Refused("denied")
        try:
            return passes.door(self._row.project, person, write=True)
        except (passes.NotReady, passes.NoPass) as error:
            raise Refused("bad-ticket") from error
