"""Opening what lies beneath one folder: no link is followed, nothing leads out, whatever is swapped meanwhile."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
from collections.abc import Iterator

from files.answers import Refused, of
from files.names import parts

_PATH = getattr(os, "O_PATH", 0o10000000)
_CLOSED = os.O_CLOEXEC | os.O_NOFOLLOW
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | _CLOSED
# beneath the folder, through no link of any kind (include/uapi/linux/openat2.h)
_RESOLVE = 0x08 | 0x04 | 0x02
_OPENAT2 = 437  # the same number on every architecture
_NOREPLACE = 1
_libc = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class Root:
    """A folder held open by descriptor; every path is text beneath it, "" is the folder itself."""

    def __init__(self, path: str, *, kernel: bool = True) -> None:
        """`path`: absolute and normalised. Raises Refused. `kernel`: let openat2 resolve where there is one."""
        self._kernel = kernel
        with _translated():
            slash = os.open("/", _FOLDER | _PATH)
            try:
                self.descriptor = self._walk(slash, path.strip("/").split("/"), _FOLDER | _PATH)
            finally:
                os.close(slash)

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self.descriptor)

    def open(self, path: str, flags: int) -> int:
        """A descriptor of what lies there; raises Refused."""
        with _translated():
            found = parts(path)
            if not found:
                return os.open(".", flags | _CLOSED, dir_fd=self.descriptor)
            return self._resolve(found, flags | _CLOSED)

    @contextlib.contextmanager
    def folder(self, path: str) -> Iterator[int]:
        """A folder that can be read."""
        with _held(self.open(path, _FOLDER)) as descriptor:
            yield descriptor

    @contextlib.contextmanager
    def parent(self, path: str) -> Iterator[tuple[int, str]]:
        """The folder above and the last name; of the root itself there is none (`denied`)."""
        *above, name = parts(path) or [""]
        if not name:
            raise Refused("denied")
        with _held(self.open("/".join(above), _FOLDER | _PATH)) as descriptor:
            yield descriptor, name

    def status(self, path: str) -> os.stat_result:
        """What lies there, a link as the link."""
        if not parts(path):
            return os.fstat(self.descriptor)
        with self.parent(path) as (above, name), _translated():
            return os.stat(name, dir_fd=above, follow_symlinks=False)

    @contextlib.contextmanager
    def file(self, path: str, uid: int) -> Iterator[tuple[int, os.stat_result]]:
        """A regular file for reading: looked at before it is opened, so that no device is, even for a moment."""
        with _held(self.open(path, _PATH)) as there:
            check_regular(os.fstat(there), uid)
            with _translated():
                opened = os.open(f"/proc/self/fd/{there}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            with _held(opened):
                yield opened, os.fstat(opened)

    def _resolve(self, found: list[str], flags: int) -> int:
        if self._kernel:
            how = _How(flags, 0, _RESOLVE)
            raw = os.fsencode("/".join(found))
            got = _libc.syscall(_OPENAT2, self.descriptor, raw, ctypes.byref(how), ctypes.sizeof(how))
            if got >= 0:
                return int(got)
            number = ctypes.get_errno()
            if number not in (errno.ENOSYS, errno.EPERM, errno.E2BIG):  # no such call here, or a filter refuses it
                raise OSError(number, os.strerror(number))
        return self._walk(self.descriptor, found, flags)

    @staticmethod
    def _walk(start: int, found: list[str], flags: int) -> int:
        """Name by name, each looked up in the folder already held: slower, and as safe."""
        held = os.dup(start)
        try:
            for name in found[:-1]:
                below = os.open(name, _FOLDER | _PATH, dir_fd=held)
                os.close(held)
                held = below
            return os.open(found[-1], flags, dir_fd=held)
        finally:
            os.close(held)


def check_regular(status: os.stat_result, uid: int) -> None:
    """Raise Refused unless a regular file, and not somebody else's that stands here by a further hard link."""
    if stat.S_ISDIR(status.st_mode):
        raise Refused("is-folder")
    if not stat.S_ISREG(status.st_mode):
        raise Refused("not-regular")
    if status.st_nlink > 1 and status.st_uid != uid:
        raise Refused("linked")


def is_shared(folder: int) -> bool:
    """A set-group-id folder hands its group on: the project's. Elsewhere what is made is the person's alone."""
    return bool(os.fstat(folder).st_mode & stat.S_ISGID)


def rename_to_new(old_folder: int, old: str, new_folder: int, new: str) -> None:
    """Rename, and never over something that is there, also not what appeared a moment ago."""
    with _translated():
        done = _libc.renameat2(old_folder, os.fsencode(old), new_folder, os.fsencode(new), _NOREPLACE)
        number = ctypes.get_errno() if done else 0
        if number in (errno.EINVAL, errno.ENOSYS):  # a file system that cannot promise it
            _rename_by_link(old_folder, old, new_folder, new)
        elif number:
            raise OSError(number, os.strerror(number))


def _rename_by_link(old_folder: int, old: str, new_folder: int, new: str) -> None:
    if stat.S_ISDIR(os.stat(old, dir_fd=old_folder, follow_symlinks=False).st_mode):
        os.mkdir(new, dir_fd=new_folder)  # a folder is renamed over an empty one only: ours, made just now
        try:
            os.rename(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder)
        except OSError:
            os.rmdir(new, dir_fd=new_folder)
            raise
        return
    os.link(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder, follow_symlinks=False)
    os.unlink(old, dir_fd=old_folder)


@contextlib.contextmanager
def _held(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """What the kernel says, in one of our words."""
    try:
        yield
    except OSError as error:
        raise of(error) from error
