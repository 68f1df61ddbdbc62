"""Unix sockets with an owner and a mode from their first moment, and the uid at their other end."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

MAX_PATH = 107  # bytes of sun_path before its NUL
_PASSING = ".new"
_UCRED = struct.Struct("3i")  # pid, uid, gid


class SocketTaken(Exception):
    """Somebody answers at this path, or something that is not a socket lies there."""


@contextlib.contextmanager
def listening(
    path: Path, kind: socket.SocketKind, *, mode: int, uid: int = -1, gid: int = -1
) -> Iterator[socket.socket]:
    """Bind and listen while the block runs; a socket nobody answers any more is replaced, ours is removed at the end.

    The file never is open wider than `mode`, not even briefly. Raises SocketTaken where somebody answers.
    """
    _check_free(path, kind)
    server = socket.socket(socket.AF_UNIX, kind)
    inode = _bind(server, path, mode=mode, uid=uid, gid=gid)
    try:
        yield server
    finally:
        server.close()
        _remove(path, inode)


def peer_uid(connection: socket.socket) -> int:
    """The uid that connected, as the kernel recorded it at connect()."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    return int(_UCRED.unpack(raw)[1])


def _bind(server: socket.socket, path: Path, *, mode: int, uid: int, gid: int) -> int:
    """Bind under a passing name and move it into place once it is complete and listened to; give its inode."""
    passing = path.with_name(path.name + _PASSING)
    if len(os.fsencode(passing)) > MAX_PATH:
        raise SocketTaken(f"{path} is longer than the {MAX_PATH - len(_PASSING)} bytes a socket's path may have here")
    passing.unlink(missing_ok=True)
    before = os.umask(0o177)  # nobody else may connect until owner and mode are right
    try:
        server.bind(str(passing))
    finally:
        os.umask(before)
    os.chown(passing, uid, gid)
    passing.chmod(mode)
    server.listen(socket.SOMAXCONN)  # who finds the queue full is refused at once, not made to wait
    passing.replace(path)
    return path.lstat().st_ino


def _remove(path: Path, inode: int) -> None:
    """Unlink our own socket file, never that of a successor who has already bound."""
    with contextlib.suppress(OSError):
        if path.lstat().st_ino == inode:
            path.unlink()


def _check_free(path: Path, kind: socket.SocketKind) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise SocketTaken(f"{path} exists and is not a socket")
    if _answers(path, kind):
        raise SocketTaken(f"another process already answers at {path}")


def _answers(path: Path, kind: socket.SocketKind) -> bool:
    with socket.socket(socket.AF_UNIX, kind) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:  # another kind of socket, no right, a full backlog: somebody is there
            return True
    return True
