"""What else changes beneath a root: a new folder, another name or place, an end."""

from __future__ import annotations

import os
import stat
import time
from typing import Any

from files.answers import Refused, of
from files.beneath import Root, is_shared, rename_to_new
from files.life import Life
from files.looking import kind, row
from files.names import check_new, parts
from files.wire import ANSWER, Channel, pack

MOST_DELETED = 200_000  # entries of one deletion
DEEPEST = 200  # folders of one deletion
LONGEST_DELETION = 50.0  # seconds: a thread of the web process waits as long


def make(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """A new folder; with `parents` those above it too, and one that is there is well."""
    check_new(asked["path"])
    names = parts(asked["path"])
    made = 0
    for depth in range(1 if asked["parents"] else len(names), len(names) + 1):
        made += _make_one(root, "/".join(names[:depth]), quietly=asked["parents"])
    channel.send(ANSWER, pack({"made": made}))


def _make_one(root: Root, path: str, *, quietly: bool) -> int:
    with root.parent(path) as (above, name):
        try:
            check_new(name)
            os.mkdir(name, 0o770 if is_shared(above) else 0o700, dir_fd=above)
        except FileExistsError as error:
            status = os.stat(name, dir_fd=above, follow_symlinks=False)
            if quietly and stat.S_ISDIR(status.st_mode):
                return 0
            raise Refused("exists") from error
        except OSError as error:
            raise of(error) from error
    return 1


def rename(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """Another name or place beneath the same root, never over something that is there."""
    check_new(asked["to"])
    if asked["to"].startswith(f"{asked['path']}/"):
        raise Refused("bad-name")  # a folder does not go into itself
    with root.parent(asked["path"]) as (old_above, old), root.parent(asked["to"]) as (new_above, new):
        rename_to_new(old_above, old, new_above, new)
        entry = row(new, os.stat(new, dir_fd=new_above, follow_symlinks=False))
    channel.send(ANSWER, pack({"entry": entry}))


def delete(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """Remove a file, a link as the link, or an empty folder; with `whole` a folder and all in it, as long as somebody
    waits for it."""
    with root.parent(asked["path"]) as (above, name):
        try:
            status = os.stat(name, dir_fd=above, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                os.unlink(name, dir_fd=above)
            elif asked["whole"]:
                Deletion(status.st_dev, Life(channel)).folder(above, name)
            else:
                os.rmdir(name, dir_fd=above)
        except OSError as error:
            raise of(error) from error
    channel.send(ANSWER, pack({"kind": kind(status.st_mode), "size": status.st_size, "uid": status.st_uid}))


class Deletion:
    """A folder and all in it, by descriptors, on one file system, bounded: what is left is said by the refusal."""

    def __init__(self, device: int, life: Life | None = None) -> None:
        self._device, self._life, self._done = device, life, 0
        self._until = time.monotonic() + LONGEST_DELETION

    def folder(self, above: int, name: str, depth: int = 0) -> None:
        if depth > DEEPEST:
            raise Refused("too-many", deleted=self._done)
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
        try:
            if os.fstat(folder).st_dev != self._device:
                raise Refused("denied", deleted=self._done)
            with os.scandir(folder) as entries:
                names = [one.name for one in entries]
            for one in names:
                self._one(folder, one, depth)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=above)
        self._count()

    def _one(self, folder: int, name: str, depth: int) -> None:
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            self.folder(folder, name, depth + 1)
        else:
            os.unlink(name, dir_fd=folder)
            self._count()

    def _count(self) -> None:
        self._done += 1
        if self._life:
            self._life.sign(deleted=self._done)
        if self._done >= MOST_DELETED or time.monotonic() > self._until:
            raise Refused("too-many", deleted=self._done)
