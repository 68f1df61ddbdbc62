"""A folder as one stream in the tar format: regular files and folders only, bounded, nothing kept in memory."""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator
from typing import Any

from files.answers import Refused, of
from files.beneath import Root
from files.looking import pieces, still
from files.names import MAX_DEPTH, PART, BadName, shown
from files.wire import ANSWER, DATA, END, PIECE, Channel, pack

MOST = 200_000  # entries
LEFT_OUT = "bancada-left-out.txt"  # the last entry, where something was left out
_MOST_TOLD = 1000


class _Stream:
    """Gathers bytes into packets of one size."""

    def __init__(self, channel: Channel) -> None:
        self._channel, self._waiting, self.bytes = channel, bytearray(), 0

    def write(self, data: bytes) -> None:
        self._waiting += data
        self.bytes += len(data)
        while len(self._waiting) >= PIECE:
            self._channel.send(DATA, bytes(self._waiting[:PIECE]))
            del self._waiting[:PIECE]

    def end(self) -> None:
        if self._waiting:
            self._channel.send(DATA, bytes(self._waiting))


def send_tar(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """The folder and all beneath it. What cannot be taken is named in the last entry."""
    with root.folder(asked["path"]):
        channel.send(ANSWER, pack({}))
    stream, left_out, count = _Stream(channel), list[str](), 0
    top = asked["path"].rsplit("/", 1)[-1] or "files"
    for path, status in _entries(root, asked["path"], left_out):
        count += 1
        if count > MOST:
            left_out.append(f"everything after {MOST} entries")
            break
        name = f"{top}/{path[len(asked['path']) :].lstrip('/')}".rstrip("/")
        _add(stream, root, uid, (name, path, status), left_out)
    if left_out:
        text = "".join(f"{shown(line)}\n" for line in left_out[:_MOST_TOLD]).encode("utf-8", "replace")
        _header(stream, f"{top}/{LEFT_OUT}", size=len(text), mode=0o644, mtime=0)
        stream.write(text + bytes(-len(text) % 512))
    stream.write(bytes(1024))
    stream.end()
    channel.send(END, pack({"bytes": stream.bytes, "entries": count, "left_out": len(left_out)}))


def _entries(root: Root, path: str, left_out: list[str], depth: int = 0) -> Iterator[tuple[str, os.stat_result]]:
    """Folders before what is in them, by name."""
    try:
        with root.folder(path) as folder, os.scandir(folder) as found:
            entries = sorted((one.name, status) for one in found if (status := still(one)))
    except (OSError, Refused, BadName) as error:
        left_out.append(f"{path}/: {error}")
        return
    for name, status in entries:
        below = f"{path}/{name}" if path else name
        if stat.S_ISDIR(status.st_mode) and depth < MAX_DEPTH - 2:
            yield below, status
            yield from _entries(root, below, left_out, depth + 1)
        elif stat.S_ISREG(status.st_mode) and not name.startswith(PART):
            yield below, status
        else:
            left_out.append(f"{below}: not a regular file")


def _add(stream: _Stream, root: Root, uid: int, entry: tuple[str, str, os.stat_result], left_out: list[str]) -> None:
    name, path, status = entry
    if stat.S_ISDIR(status.st_mode):
        _header(stream, f"{name}/", size=0, mode=0o755, mtime=int(status.st_mtime), folder=True)
        return
    try:
        with root.file(path, uid) as (file, now):
            mode = 0o755 if now.st_mode & 0o100 else 0o644
            _header(stream, name, size=now.st_size, mode=mode, mtime=int(now.st_mtime))
            _body(stream, file, now.st_size, path, left_out)
    except Refused as error:
        left_out.append(f"{path}: {error.answer}")
    except BadName as error:
        left_out.append(f"{path}: {error}")


def _body(stream: _Stream, file: int, size: int, path: str, left_out: list[str]) -> None:
    """Exactly as many bytes as the header said: what became shorter meanwhile is filled up, and named."""
    sent = 0
    try:
        for piece in pieces(file, 0, size):
            stream.write(piece)
            sent += len(piece)
    except Refused as error:
        left_out.append(f"{path}: {error.answer} after {sent} bytes")
    if sent < size:
        left_out.append(f"{path}: became shorter while it was read, filled with zeros after {sent} bytes")
    for _ in range((size - sent) // PIECE):
        stream.write(bytes(PIECE))
    stream.write(bytes((size - sent) % PIECE))
    stream.write(bytes(-size % 512))


def _header(stream: _Stream, name: str, *, size: int, mode: int, mtime: int, folder: bool = False) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, mode, mtime
    info.type = tarfile.DIRTYPE if folder else tarfile.REGTYPE
    try:
        stream.write(info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"))
    except (ValueError, UnicodeError) as error:
        raise Refused("bad-name") from error
    except OSError as error:
        raise of(error) from error
