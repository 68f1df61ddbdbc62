"""Change what lies in a project's folder: uploads, folders, names, ends; each an event with path, size and digest."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from typing import Any

from django.db import transaction

from accounts.models import User
from audit import trail
from audit.actions import Action
from files.client import Entry
from files.names import shown
from projects.models import Project
from storage.services import passes

PIECE = 4 * 1024 * 1024  # bytes of one piece at most


def begin(
    *, project: Project, by: User, path: str, size: int, overwrite: bool = False, upload: str = ""
) -> tuple[str, int]:
    """(the upload's name, the offset it stands at). Asks for room first; with `upload` one that broke off goes on."""
    name = upload or secrets.token_hex(16)
    with passes.door(project, by, write=True) as door:
        return name, door.begin(path, name, size, overwrite=overwrite)


def piece(
    *,
    project: Project,
    by: User,
    path: str,
    upload: str,
    offset: int,
    size: int,
    data: Iterable[bytes],
    digest: str = "",
) -> int:
    """Take the next bytes; gives the offset after them. Not recorded: a part has no name yet."""
    with passes.door(project, by, write=True) as door:
        return door.piece(path, upload, offset, size, data, digest=digest)


def finish(
    *, project: Project, by: User, path: str, upload: str, size: int, digest: str = "", overwrite: bool = False
) -> tuple[Entry, str]:
    """Give the upload its name: (entry, SHA-256)."""
    with passes.door(project, by, write=True) as door:
        entry, found, replaced = door.finish(path, upload, size, digest=digest, overwrite=overwrite)
    _record(Action.FILE_UPLOADED, project, by, path, size=entry.size, digest=found, replaced=replaced)
    return entry, found


def put(*, project: Project, by: User, path: str, size: int, data: Iterable[bytes], overwrite: bool = False) -> Entry:
    """A whole file at once, as a form without JavaScript sends it."""
    upload = secrets.token_hex(16)
    with passes.door(project, by, write=True) as door:
        door.begin(path, upload, size, overwrite=overwrite)
        door.piece(path, upload, 0, size, data)
        entry, digest, replaced = door.finish(path, upload, size, overwrite=overwrite)
    _record(Action.FILE_UPLOADED, project, by, path, size=entry.size, digest=digest, replaced=replaced)
    return entry


def abandon(*, project: Project, by: User, path: str, upload: str) -> None:
    """Take an unfinished upload away."""
    with passes.door(project, by, write=True) as door:
        door.abandon(path, upload)


def make(*, project: Project, by: User, path: str, parents: bool = False) -> None:
    """Make a folder."""
    with passes.door(project, by, write=True) as door:
        made = door.make(path, parents=parents)
    if made:
        _record(Action.FOLDER_MADE, project, by, path)


def rename(*, project: Project, by: User, path: str, to: str) -> Entry:
    """Give another name or place; never over something that is there."""
    with passes.door(project, by, write=True) as door:
        entry = door.rename(path, to)
    _record(Action.FILE_RENAMED, project, by, path, to=shown(to), size=entry.size, kind=entry.kind)
    return entry


def delete(*, project: Project, by: User, path: str, whole: bool = False) -> None:
    """Remove a file, an empty folder, or (`whole`) a folder with all in it."""
    with passes.door(project, by, write=True) as door:
        gone = door.delete(path, whole=whole)
    _record(
        Action.FILE_DELETED, project, by, path, kind=str(gone["kind"]), size=int(gone["size"]), uid=int(gone["uid"]),
        whole=whole,
    )  # fmt: skip


@transaction.atomic
def _record(action: Action, project: Project, by: User, path: str, **detail: Any) -> None:
    trail.record(action, by=by, about=project, project=project, path=shown(path), **detail)


def measured(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """At most `size` bytes of what comes."""
    left = size
    for chunk in chunks:
        if left <= 0:
            return
        yield chunk[:left]
        left -= len(chunk)
