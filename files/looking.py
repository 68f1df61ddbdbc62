"""What can be seen beneath a root: a folder's entries, one of them, the bytes of a file, what is new."""

from __future__ import annotations

import heapq
import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any

from files import limits, pouring
from files.answers import Refused, of
from files.beneath import Root
from files.names import MAX_DEPTH, PART, BadName
from files.wire import ANSWER, DATA, END, PIECE, Channel, pack

MOST_ENTRIES = 200_000  # of one folder: beyond it the list says that it is cut
MOST_ROWS = 10_000  # of one answer
MOST_WALKED = 100_000  # entries of one walk
LONGEST_WALK = 5.0  # seconds
_BATCH = 40 * 1024  # bytes of rows put into one packet
Row = list[Any]  # [name, kind, size, mtime, uid, mode, links]
_ORDER: dict[str, Callable[[Row], Any]] = {
    "name": lambda row: (row[1] != "d", row[0].casefold(), row[0]),
    "size": lambda row: (row[2], row[0]),
    "time": lambda row: (row[3], row[0]),
}


def kind(mode: int) -> str:
    """d: folder, f: regular file, l: link, o: anything else."""
    return {stat.S_IFDIR: "d", stat.S_IFREG: "f", stat.S_IFLNK: "l"}.get(stat.S_IFMT(mode), "o")


def row(name: str, status: os.stat_result) -> Row:
    """One entry as it travels; sizes in bytes, time in epoch seconds."""
    return [name, kind(status.st_mode), status.st_size, int(status.st_mtime), status.st_uid, status.st_mode & 0o7777,
            status.st_nlink]  # fmt: skip


def send_list(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """The entries of a folder from `offset` on, in order; parts of uploads are not shown."""
    with root.folder(asked["path"]) as folder:
        rows, cut = _read_folder(folder)
        may_write = os.access(".", os.W_OK | os.X_OK, dir_fd=folder, effective_ids=True)
    order = asked["order"]
    rows.sort(key=_ORDER[order.lstrip("-")], reverse=order.startswith("-"))
    shown = rows[asked["offset"] : asked["offset"] + min(asked["limit"], MOST_ROWS)]
    channel.send(ANSWER, pack({"total": len(rows), "cut": cut, "may_write": may_write}))
    _send_rows(channel, shown)
    channel.send(END, pack({"rows": len(shown)}))


def _read_folder(folder: int) -> tuple[list[Row], bool]:
    rows: list[Row] = []
    with _scan(folder) as entries:
        for entry in entries:
            if entry.name.startswith(PART):
                continue
            if len(rows) >= MOST_ENTRIES:
                return rows, True
            if status := still(entry):
                rows.append(row(entry.name, status))
    return rows, False


def still(entry: os.DirEntry[str]) -> os.stat_result | None:
    """What it is; None where it is gone between the list and the look."""
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _scan(folder: int) -> Any:
    try:
        return os.scandir(folder)
    except OSError as error:
        raise of(error) from error


def _send_rows(channel: Channel, rows: list[Row]) -> None:
    batch: list[bytes] = []
    size = 0
    for one in rows:
        text = pack({"": one})[4:-1]
        if size + len(text) > _BATCH:
            channel.send(DATA, b"[" + b",".join(batch) + b"]")
            batch, size = [], 0
        batch.append(text)
        size += len(text) + 1
    if batch:
        channel.send(DATA, b"[" + b",".join(batch) + b"]")


def send_status(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """One entry."""
    channel.send(ANSWER, pack({"entry": row(asked["path"].rsplit("/", 1)[-1], root.status(asked["path"]))}))


def send_bytes(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """Bytes of a regular file as long as it is now, by a pipe; the end says whether it became another meanwhile."""
    with root.file(asked["path"], uid) as (file, before):
        head = pack({"entry": row(asked["path"].rsplit("/", 1)[-1], before)})
        limit = min(asked["limit"], max(0, before.st_size - asked["offset"]))
        sent = pouring.give(channel, head, file, asked["offset"], limit)
        after = os.fstat(file)
        same = (before.st_uid, before.st_size, before.st_mtime_ns) == (after.st_uid, after.st_size, after.st_mtime_ns)
        channel.send(END, pack({"bytes": sent, "whole": sent == limit, "same": same}))


def pieces(file: int, offset: int, limit: int) -> Iterator[bytes]:
    """Up to `limit` bytes from `offset` on, one packet's worth at a time."""
    left = limit
    while left:
        try:
            piece = os.pread(file, min(PIECE, left), offset)
        except OSError as error:
            raise of(error) from error
        if not piece:
            return
        yield piece
        offset, left = offset + len(piece), left - len(piece)


def send_space(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """Room on the file system the folder lies on, for people who are not root, and what it allows them."""
    with root.folder(asked["path"]) as folder:
        (free, total, files), bounds = limits.told(folder, uid)
    channel.send(ANSWER, pack({"free": free, "total": total, "files": files, "limits": bounds}))


def send_walk(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """The newest files beneath a folder and what all of them take: of somebody (`uid` 0: anybody), changed within
    two times, with one of some endings of their names (blanks between; none: all)."""
    newest: list[tuple[int, str, Row]] = []
    count = size = 0
    walked, endings = Walk(root), tuple(asked["endings"].split()) or ("",)
    for path, status in walked.files(asked["path"]):
        if not asked["since"] <= status.st_mtime <= asked["until"] or asked["uid"] not in (0, status.st_uid):
            continue
        if not path.lower().endswith(endings):
            continue
        count, size = count + 1, size + status.st_size
        one = (int(status.st_mtime), path, row(path, status))
        (heapq.heappush if len(newest) < min(asked["limit"], 1000) else heapq.heappushpop)(newest, one)
    channel.send(ANSWER, pack({"count": count, "bytes": size, "cut": walked.cut}))
    _send_rows(channel, [one for _, _, one in sorted(newest, reverse=True)])
    channel.send(END, pack({"rows": len(newest)}))


class Walk:
    """All regular files beneath a folder, bounded in number, depth and time; `cut` says that there is more."""

    def __init__(self, root: Root) -> None:
        self._root, self._left, self._until = root, MOST_WALKED, time.monotonic() + LONGEST_WALK
        self.cut = False

    def files(self, path: str, depth: int = 0) -> Iterator[tuple[str, os.stat_result]]:
        """(path beneath the root, status); a folder that cannot be read is passed over, and one too deep to be named or
        gone into is more than was counted."""
        try:
            with self._root.folder(path) as folder, _scan(folder) as entries:
                found = [(one.name, status) for one in self._some(entries) if (status := still(one))]
        except (OSError, Refused):
            return
        except BadName:
            self.cut = True
            return
        for name, status in found:
            below = f"{path}/{name}" if path else name
            if stat.S_ISREG(status.st_mode):
                yield below, status
            elif stat.S_ISDIR(status.st_mode) and depth < MAX_DEPTH - 2:
                yield from self.files(below, depth + 1)
            elif stat.S_ISDIR(status.st_mode):
                self.cut = True

    def _some(self, entries: Any) -> Iterator[Any]:
        for entry in entries:
            if self._left <= 0 or time.monotonic() > self._until:
                self.cut = True
                return
            self._left -= 1
            yield entry
