"""A zip unpacked into a new folder: bounded in count, size, ratio and time, and there whole or not at all."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import io
import os
import secrets
import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from files.answers import Refused, of
from files.beneath import Root, is_shared, rename_to_new
from files.changing import Deletion
from files.life import Life
from files.looking import row
from files.names import PART, BadName, check_new, parts, shown
from files.uploading import check_room
from files.wire import ANSWER, PIECE, Channel, pack

MOST_ENTRIES = 20_000  # files and folders in all
MOST_BYTES = 64 * 1024**3
RATIO, SMALL = 100, 64 * 1024**2  # what is larger than SMALL may be so many times as large as its archive
LONGEST = 50.0  # seconds: a thread of the web process waits as long
MOST_READ = 16 * 1024**2  # bytes of an archive's own list of entries
_READ = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_KINDS = (0, stat.S_IFREG, stat.S_IFDIR)
_ENCRYPTED, _UTF8 = 0x1, 0x800
_WRONG = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
    LookupError,
)
_OTHERS = "__MACOSX"  # what one desktop adds beside everybody's files


class _List(io.FileIO):
    """The archive, of which nobody reads more than MOST_READ at once: a list of entries may say it is any length."""

    def read(self, size: int | None = -1, /) -> bytes:
        most = MOST_READ + 1
        found = super().read(most if size is None or size < 0 else min(size, most)) or b""
        if len(found) > MOST_READ:
            raise Refused("too-much")
        return found


@dataclasses.dataclass(frozen=True, slots=True)
class _Plan:
    """What will be there: folders in the order they are made, files with where they come from."""

    folders: list[str]
    files: dict[str, zipfile.ZipInfo]

    @property
    def bytes(self) -> int:
        return sum(info.file_size for info in self.files.values())


class _Time:
    """Time that runs out, and signs of life to who waits."""

    def __init__(self, channel: Channel) -> None:
        self._life, self._until = Life(channel), time.monotonic() + LONGEST

    def passes(self) -> None:
        """Raises Refused, and Gone where nobody waits any more."""
        if time.monotonic() > self._until:
            raise Refused("too-much")
        self._life.sign()


def unpack(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """The archive at `path` into a folder `to` that is not there yet."""
    check_new(asked["to"])
    left = _Time(channel)
    with root.file(asked["path"], uid) as (file, status), root.parent(asked["to"]) as (above, name), _read():
        _check_free(above, name)
        digest = _digest(file, left)
        with _List(file, closefd=False) as raw, zipfile.ZipFile(raw) as archive:
            plan = _planned(archive.infolist(), status.st_size)
            check_room(above, plan.bytes)
            entry = _Unpacking(root, archive, plan, left).into(asked["to"], above, name)
    made = {"files": len(plan.files), "folders": len(plan.folders), "bytes": plan.bytes}
    channel.send(ANSWER, pack({"entry": entry, "size": status.st_size, "digest": digest, **made}))


@contextlib.contextmanager
def _read() -> Iterator[None]:
    """Whatever is wrong with an archive is one word; what is wrong with the disk keeps its own."""
    try:
        yield
    except _WRONG as error:
        raise Refused("bad-archive") from error
    except OSError as error:
        wrong = error.errno == errno.EINVAL  # its list points to where no byte can be
        raise Refused("bad-archive") if wrong else of(error) from error


def _check_free(above: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.stat(name, dir_fd=above, follow_symlinks=False)
        raise Refused("exists")


def _digest(file: int, left: _Time) -> str:
    digest, at = hashlib.sha256(), 0
    while piece := os.pread(file, PIECE, at):
        digest.update(piece)
        at += len(piece)
        left.passes()
    return digest.hexdigest()


def _planned(infos: list[zipfile.ZipInfo], size: int) -> _Plan:
    """Every name looked at before anything is made. Raises Refused with the entry that is in the way."""
    files: dict[str, zipfile.ZipInfo] = {}
    folders: set[str] = set()
    for info in infos:
        path = _path(info)
        if path.split("/")[0] == _OTHERS:
            continue
        if path in files or (not info.is_dir() and path in folders):
            raise _refused(info)
        above = path.split("/")[:-1]
        folders.update("/".join(above[: depth + 1]) for depth in range(len(above)))
        if info.is_dir():
            folders.add(path)
        else:
            files[path] = info
        if len(files) + len(folders) > MOST_ENTRIES:
            raise Refused("too-much")
    for path in folders & files.keys():
        raise _refused(files[path])
    plan = _Plan(sorted(folders), files)
    if plan.bytes > min(MOST_BYTES, max(SMALL, RATIO * size)):
        raise Refused("too-much")
    if sum(info.compress_size for info in files.values()) > size:  # several entries of the same bytes
        raise Refused("bad-archive")
    return plan


def _path(info: zipfile.ZipInfo) -> str:
    """Where an entry goes beneath the new folder."""
    if not info.filename or info.flag_bits & _ENCRYPTED or info.compress_type not in _READ:
        raise _refused(info)
    if stat.S_IFMT(info.external_attr >> 16) not in _KINDS:
        raise _refused(info)
    try:
        name = info.orig_filename
        if not info.flag_bits & _UTF8:  # many write UTF-8 and do not say so; others write what nobody can know
            name = name.encode("cp437").decode()
        path = name.removesuffix("/") if info.is_dir() else name
        for part in parts(path) or [""]:
            check_new(part)
    except (BadName, UnicodeError) as error:
        raise _refused(info) from error
    if "\\" in path:
        raise _refused(info)
    return path


def _refused(info: zipfile.ZipInfo) -> Refused:
    return Refused("bad-entry", entry=shown(info.orig_filename)[:200])


class _Unpacking:
    """One archive on its way into a folder that gets its name at the end."""

    def __init__(self, root: Root, archive: zipfile.ZipFile, plan: _Plan, left: _Time) -> None:
        self._root, self._archive, self._plan, self._left = root, archive, plan, left

    def into(self, to: str, above: int, name: str) -> list[Any]:
        """Gives the row of the new folder."""
        part = PART + secrets.token_hex(16)
        base = f"{to.rpartition('/')[0]}/{part}".lstrip("/")
        os.mkdir(part, 0o770 if is_shared(above) else 0o700, dir_fd=above)
        try:
            self._fill(base, shared=is_shared(above))
            with self._root.folder(base) as folder:
                rename_to_new(above, part, above, name)
                return row(name, os.fstat(folder))
        except BaseException:  # whatever it was: nothing of it stays
            with contextlib.suppress(OSError, Refused):
                Deletion(os.fstat(above).st_dev).folder(above, part)
            raise

    def _fill(self, base: str, *, shared: bool) -> None:
        for path in self._plan.folders:
            with self._root.parent(f"{base}/{path}") as (above, name):
                os.mkdir(name, 0o770 if shared else 0o700, dir_fd=above)
            self._left.passes()
        for path, info in self._plan.files.items():
            runs = 0o110 if info.external_attr >> 16 & 0o100 else 0
            mode = (0o660 | runs) if shared else (0o600 | runs & 0o700)
            with self._root.parent(f"{base}/{path}") as (above, name), self._archive.open(info) as packed:
                file = os.open(
                    name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=above
                )
                with os.fdopen(file, "wb", buffering=0) as target:
                    self._copy(packed, target, info.file_size)

    def _copy(self, packed: Any, target: BinaryIO, size: int) -> None:
        while piece := packed.read(PIECE):
            size -= len(piece)
            if size < 0:
                raise Refused("bad-archive")
            while piece:
                piece = piece[target.write(piece) :]
            self._left.passes()
        self._left.passes()
        if size:
            raise Refused("bad-archive")
