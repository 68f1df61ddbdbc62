"""Change what lies in a project's folder: uploads, folders, names, ends; each an event with path, size and digest."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from accounts.models import User
from audit.actions import Action
from files.answers import Refused
from files.client import Entry
from files.names import shown
from projects.models import Project
from storage.services import finishing, passes
from storage.services.acts import act
from storage.services.rules import may_move, rules
from storage.words import FAILURES

PIECE = 64 * 1024 * 1024  # bytes of one piece at most; it passes through, CHUNK at a time, and is never held
CHUNK = 1024 * 1024


def begin(
    *, project: Project, by: User, path: str, size: int, overwrite: bool = False, upload: str = ""
) -> tuple[str, int]:
    """(the upload's name, the offset it stands at). Asks for room first; with `upload` one that broke off goes on."""
    name = upload or secrets.token_hex(16)
    with passes.door(project, by, write=True) as door:
        offset = door.begin(path, name, size, overwrite=overwrite)
    if upload:
        finishing.forget(project, by, upload)
    return name, offset


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


def put(*, project: Project, by: User, path: str, size: int, data: Iterable[bytes], overwrite: bool = False) -> None:
    """A whole file at once, as a form without JavaScript sends it."""
    upload = secrets.token_hex(16)
    try:
        with passes.door(project, by, write=True) as door:
            door.begin(path, upload, size, overwrite=overwrite)
            door.piece(path, upload, 0, size, data)
        ended = finishing.finish(
            project=project, by=by, path=path, upload=upload, size=size, overwrite=overwrite, patience=math.inf
        )
        if isinstance(ended, finishing.Checking):  # none of the places was free
            raise Refused("busy")
    except Exception:  # nobody goes on with it, and its bytes would count
        with suppress(*FAILURES):
            abandon(project=project, by=by, path=path, upload=upload)
        raise


def abandon(*, project: Project, by: User, path: str, upload: str) -> None:
    """Take an unfinished upload away."""
    with passes.door(project, by, write=True) as door:
        door.abandon(path, upload)


def make(*, project: Project, by: User, path: str, parents: bool = False) -> None:
    """Make a folder; with `parents` one that is there is well, and nothing happened."""
    if parents and _is_folder(project, by, path):
        return
    with act(Action.FOLDER_MADE, project, by, path) as (door, told):
        told["made"] = door.make(path, parents=parents)


def rename(*, project: Project, by: User, path: str, to: str) -> Entry:
    """Give another name or place; never over something that is there, nor out of where data are bound."""
    may_move(project, by, path, to)
    with act(Action.FILE_RENAMED, project, by, path, to=shown(to)) as (door, told):
        entry = door.rename(path, to)
        told |= {"size": entry.size, "kind": entry.kind}
    return entry


def delete(*, project: Project, by: User, path: str, whole: bool = False) -> None:
    """Remove a file, an empty folder, or (`whole`) a folder with all in it."""
    with act(Action.FILE_DELETED, project, by, path, whole=whole) as (door, told):
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
    with act(Action.FILE_UNPACKED, project, by, path, to=shown(to)) as (door, told):
        made = door.unpack(path, to)
        told |= {one: made[one] for one in ("size", "digest", "files", "folders", "bytes")}
    return made


def _is_folder(project: Project, by: User, path: str) -> bool:
    with passes.door(project, by, write=True) as door, suppress(Refused):
        return door.stat(path).is_folder
    return False


def measured(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """At most `size` bytes of what comes."""
    left = size
    for chunk in chunks:
        if left <= 0:
            return
        yield chunk[:left]
        left -= len(chunk)
