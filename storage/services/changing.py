"""Change what lies in a project's folder: uploads, folders, names, ends; each an event with path, size and digest.

A file system shares no transaction with the trail. So what is about to be done is written down and committed first,
then it is done, then how it ended is written: whatever dies in between, nothing was done of which the trail is silent.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import transaction

from accounts.models import User
from audit import trail
from audit.actions import Action, Outcome
from files.answers import Refused
from files.client import Door, DoorDown, Entry
from files.names import shown
from projects.models import Project
from storage.services import passes
from storage.services.rules import rules

PIECE = 64 * 1024 * 1024  # bytes of one piece at most; it passes through, CHUNK at a time, and is never held
CHUNK = 1024 * 1024


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
    with _act(Action.FILE_UPLOADED, project, by, path, size=size) as (door, told):
        entry, found, replaced = door.finish(path, upload, size, digest=digest, overwrite=overwrite)
        told |= {"digest": found, "replaced": replaced}
    return entry, found


def put(*, project: Project, by: User, path: str, size: int, data: Iterable[bytes], overwrite: bool = False) -> Entry:
    """A whole file at once, as a form without JavaScript sends it."""
    upload = secrets.token_hex(16)
    with passes.door(project, by, write=True) as door:
        door.begin(path, upload, size, overwrite=overwrite)
        door.piece(path, upload, 0, size, data)
    return finish(project=project, by=by, path=path, upload=upload, size=size, overwrite=overwrite)[0]


def abandon(*, project: Project, by: User, path: str, upload: str) -> None:
    """Take an unfinished upload away."""
    with passes.door(project, by, write=True) as door:
        door.abandon(path, upload)


def make(*, project: Project, by: User, path: str, parents: bool = False) -> None:
    """Make a folder; with `parents` one that is there is well, and nothing happened."""
    if parents and _is_folder(project, by, path):
        return
    with _act(Action.FOLDER_MADE, project, by, path) as (door, told):
        told["made"] = door.make(path, parents=parents)


def rename(*, project: Project, by: User, path: str, to: str) -> Entry:
    """Give another name or place; never over something that is there, nor out of where data are bound."""
    rules(project, by).may_move(path, to)
    with _act(Action.FILE_RENAMED, project, by, path, to=shown(to)) as (door, told):
        entry = door.rename(path, to)
        told |= {"size": entry.size, "kind": entry.kind}
    return entry


def delete(*, project: Project, by: User, path: str, whole: bool = False) -> None:
    """Remove a file, an empty folder, or (`whole`) a folder with all in it."""
    with _act(Action.FILE_DELETED, project, by, path, whole=whole) as (door, told):
        gone = door.delete(path, whole=whole)
        told |= {"kind": str(gone["kind"]), "size": int(gone["size"]), "uid": int(gone["uid"])}


def unpack(*, project: Project, by: User, path: str, to: str) -> dict[str, Any]:
    """Unpack a zip into a new folder: its `entry`, how many `files`, `folders` and `bytes` are in it.

    What comes out of it is the person's own, so only what they might take out of the portal is unpacked.
    """
    bound = rules(project, by)
    with passes.door(project, by) as door:
        found = door.stat(path)
    bound.may_take(path, found)
    with _act(Action.FILE_UNPACKED, project, by, path, to=shown(to)) as (door, told):
        made = door.unpack(path, to)
        told |= {one: made[one] for one in ("size", "digest", "files", "folders", "bytes")}
    return made


def _is_folder(project: Project, by: User, path: str) -> bool:
    with passes.door(project, by, write=True) as door, suppress(Refused):
        return door.stat(path).is_folder
    return False


@contextmanager
def _act(action: Action, project: Project, by: User, path: str, **intent: Any) -> Iterator[tuple[Door, dict[str, Any]]]:
    """Write down what is meant, give the door to do it by, write down what came of it (put it into the second)."""
    facts = {"by": by, "about": project, "project": project, "path": shown(path), **intent}
    told: dict[str, Any] = {}
    with passes.door(project, by, write=True) as door:
        _record(Action.FILE_CHANGING, act=action.value, **facts)
        try:
            yield door, told
        except (Refused, DoorDown) as error:
            why = error.answer if isinstance(error, Refused) else "no answer"
            _record(action, outcome=Outcome.FAILED, why=why, **facts)
            raise
        _record(action, **facts, **told)


@transaction.atomic
def _record(action: Action, **facts: Any) -> None:
    trail.record(action, **facts)


def measured(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """At most `size` bytes of what comes."""
    left = size
    for chunk in chunks:
        if left <= 0:
            return
        yield chunk[:left]
        left -= len(chunk)
