"""Look into a project's folder, and take out of it: a file, a part of one, a folder as a tar.

What is recorded: each look into somebody else's file; each download before its first byte, and, once it is over, how
many bytes went out and their SHA-256.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import time
from collections.abc import Iterator
from typing import Any

from django.db import transaction

from access import gate
from access.permissions import Permission
from accounts.models import User
from audit import trail
from audit.actions import Action, Outcome
from files.answers import Refused
from files.client import Door, DoorDown, Entry, Found, Listing, Room
from files.names import shown
from projects.models import Project
from storage.services import pace, passes
from storage.services.digesting import Digest
from storage.services.rules import rules

SHOWN = 256 * 1024  # bytes of a text that a page shows
MOST_IMAGE = 16 * 1024 * 1024
MOST = 2**63 - 1
OLD = 90  # days
CHECKPOINTS = (".pt", ".pth", ".ckpt", ".safetensors", ".h5", ".keras", ".onnx", ".msgpack", ".gguf", ".npz")


def fetch(user: gate.Person, code: str, permission: Permission = Permission.LOG_READ) -> Project:
    """The project whose files the person may read (or, with JOB_SUBMIT, change); raises NotFound or Refused."""
    return gate.fetch(Project.objects, user, permission, code=code)


@dataclasses.dataclass(frozen=True, slots=True)
class Sight:
    """A folder as a page shows it, with the people its entries belong to by uid, and the room there is."""

    listing: Listing
    owners: dict[int, User]
    room: Room | None


def folder(
    *, project: Project, by: User, path: str, offset: int = 0, limit: int = 200, order: str = "name", room: bool = False
) -> Sight:
    """Some of a folder's entries."""
    with passes.door(project, by) as door:
        listing = door.folder(path, offset=offset, limit=limit, order=order)
        space = door.room(path) if room else None
    return Sight(listing, owners_of(project, listing.entries), space)


def owners_of(project: Project, entries: list[Entry]) -> dict[int, User]:
    """The people the entries belong to, by uid: of those who are or were in the project. Others stay a number."""
    uids = {one.uid for one in entries}
    of_project = project.memberships.filter(user__uid_number__in=uids, user__is_active=True).select_related("user")
    return {int(row.user.uid_number or 0): row.user for row in of_project}


def room(*, project: Project, by: User) -> Room:
    """Room on the file system of the project's folder."""
    with passes.door(project, by) as door:
        return door.room()


def written(
    *, project: Project, by: User, path: str, uid: int, since: int, until: int = MOST, limit: int = 200,
    haste: float | None = None,
) -> tuple[Found, dict[int, User]]:  # fmt: skip
    """The newest files somebody changed beneath a folder within two times, and the people they belong to."""
    with passes.door(project, by, haste=haste) as door:
        found = door.walk(path, since=since, until=until, uid=uid, limit=limit)
    return found, owners_of(project, found.entries)


@dataclasses.dataclass(frozen=True, slots=True)
class Use:
    """What lies in a project's folder as this person sees it, and what of their own nobody touched for long."""

    all: Found
    old: Found
    room: Room


def use(*, project: Project, by: User) -> Use:
    """Count all, and the person's own training checkpoints older than OLD days; bounded in number and time."""
    before = int(time.time()) - OLD * 24 * 3600
    with passes.door(project, by) as door:
        old = door.walk("", until=before, uid=int(by.uid_number or -1), endings=" ".join(CHECKPOINTS), limit=5)
        return Use(door.walk("", limit=1), old, door.room())


@dataclasses.dataclass(frozen=True, slots=True)
class Head:
    """An entry and, where it is a file that may be read, its first bytes."""

    entry: Entry
    data: bytes


def head(*, project: Project, by: User, path: str, limit: int = SHOWN) -> Head:
    """A file's first bytes, for a page; of a folder just the entry."""
    bound = rules(project, by)
    with passes.door(project, by) as door:
        entry = door.stat(path)
        if not entry.is_file:
            return Head(entry, b"")
        bound.may_read(path, entry)
        entry, pieces = door.read(path, limit=limit)
        bound.may_read(path, entry)  # what was opened may be another file by now
        data = b"".join(pieces)
    note(project=project, by=by, path=path, entry=entry)
    return Head(entry, data)


@transaction.atomic
def note(*, project: Project, by: User, path: str, entry: Entry) -> None:
    """Record that somebody looks into a file that is not their own."""
    if entry.uid != by.uid_number:
        owner = User.objects.filter(uid_number=entry.uid, is_active=True).first()
        whose: dict[str, Any] = {"owner": trail.Login(owner.username)} if owner else {"uid": entry.uid}
        trail.record(
            Action.FILE_READ, by=by, about=project, project=project, path=shown(path), size=entry.size, **whose
        )


class Taken:
    """A download under way: iterate once, then close (a streaming response does both)."""

    def __init__(self, pieces: Iterator[bytes], facts: dict[str, Any], held: contextlib.ExitStack) -> None:
        self._pieces, self._facts, self._held = pieces, facts, held
        self._digest, self._bytes, self._whole, self._over = Digest(), 0, False, False
        self.entry: Entry | None = None

    def __iter__(self) -> Iterator[bytes]:
        try:
            for piece in self._pieces:
                self._digest.update(piece)
                self._bytes += len(piece)
                yield piece
        except (Refused, DoorDown) as error:  # also where its length was not said, its reader sees that it broke off
            raise ConnectionResetError(errno.ECONNRESET, "the files' door ended it early") from error
        self._whole = True

    def close(self) -> None:
        """Let go of the door and write down what went out."""
        if self._over:
            return
        self._over = True
        with self._held, transaction.atomic():
            outcome = Outcome.DONE if self._whole else Outcome.FAILED
            trail.record(
                Action.FILE_HANDED_OUT, outcome=outcome, bytes=self._bytes, digest=self._digest.hexdigest(),
                **self._facts,
            )  # fmt: skip


def take(*, project: Project, by: User, path: str, offset: int = 0, limit: int = MOST) -> Taken:
    """A file's bytes from `offset` on. Raises access.errors.Refused, pace.TooMany and what passes.door does."""
    bound = rules(project, by)
    with _holding(project, by) as (stack, door):
        entry, pieces = door.read(path, offset=offset, limit=limit)
        bound.may_take(path, entry)
        facts = _record(project, by, path, size=entry.size, kind="file")
        taken = Taken(pieces, facts, stack.pop_all())
        taken.entry = entry
        return taken


def take_folder(*, project: Project, by: User, path: str) -> Taken:
    """A folder and all beneath it as a tar."""
    bound = rules(project, by)
    with _holding(project, by) as (stack, door):
        bound.may_take_all(door, path)
        pieces = door.tar(path)
        facts = _record(project, by, path, size=None, kind="folder")
        return Taken(pieces, facts, stack.pop_all())


@contextlib.contextmanager
def _holding(project: Project, by: User) -> Iterator[tuple[contextlib.ExitStack, Door]]:
    with contextlib.ExitStack() as stack:
        pace.downloads.take(by.pk)
        stack.callback(pace.downloads.leave, by.pk)
        yield stack, stack.enter_context(passes.door(project, by))


@transaction.atomic
def _record(project: Project, by: User, path: str, *, size: int | None, kind: str) -> dict[str, Any]:
    facts = {"by": by, "about": project, "project": project, "path": shown(path), "kind": kind}
    trail.record(Action.FILE_DOWNLOADED, size=size, **facts)
    return facts
