"""Uploads: bytes gather in a part beneath the folder they are for, and get their name whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import resource
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from files.answers import Refused, of
from files.beneath import Root, is_shared, rename_to_new
from files.changing import Deletion
from files.life import BEAT, Life
from files.looking import pieces, row
from files.names import PART, check_new
from files.wire import ANSWER, DATA, END, BadPacket, Channel, pack

MARGIN = 16 * 1024 * 1024  # bytes that stay free when an upload is let in
ABANDONED = 7 * 24 * 3600  # seconds after which a part nobody goes on with is taken away
SYNCING = 600.0  # seconds of signs of life for a disk to take what it was given; then who waits gives up
SLOWEST = 64 * 1024 * 1024  # bytes whose SHA-256 takes a second of CPU, where it takes long


def begin(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """Let an upload in, or say where one that broke off stands: asks for room, and whether the name is free."""
    check_new(asked["path"])
    with root.parent(asked["path"]) as (above, name):
        _check_target(above, name, overwrite=asked["overwrite"])
        _forget_old(root, asked["path"], uid)
        with _part(above, asked["id"], uid, create=True) as part:
            have = os.fstat(part).st_size
            if have > asked["size"]:
                raise Refused("offset", offset=have)
            try:
                check_room(above, asked["size"] - have)  # not of the part: a folder's own bound shows on the folder
            except Refused:
                os.unlink(PART + asked["id"], dir_fd=above)
                raise
    channel.send(ANSWER, pack({"offset": have}))


def check_room(where: int, needed: int) -> None:
    """Whether so many bytes fit, with MARGIN to spare, beside a file or folder held open. Raises Refused."""
    room = os.fstatvfs(where)
    free = room.f_bavail * room.f_frsize
    if needed + MARGIN > free:
        raise Refused("full", free=free, needed=needed)


def _check_target(above: int, name: str, *, overwrite: bool) -> bool:
    """Whether a file is there that would be replaced; raises Refused where it must not be."""
    try:
        status = os.stat(name, dir_fd=above, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise of(error) from error
    if not overwrite:
        raise Refused("exists")
    if not stat.S_ISREG(status.st_mode):
        raise Refused("is-folder" if stat.S_ISDIR(status.st_mode) else "not-regular")
    return True


@contextlib.contextmanager
def _part(above: int, upload: str, uid: int, *, create: bool = False) -> Iterator[int]:
    """The part of an upload, ours and nobody else's, locked: two who write the same one do not mix."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_CREAT if create else 0)
    try:
        part = os.open(PART + upload, flags, 0o600, dir_fd=above)
    except OSError as error:
        raise of(error) from error
    try:
        status = os.fstat(part)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != uid or status.st_nlink != 1:
            raise Refused("changed")
        fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield part
    except OSError as error:
        raise of(error) from error
    finally:
        os.close(part)


def _forget_old(root: Root, path: str, uid: int) -> None:
    """Parts of the person's own that nobody went on with for a week, in this folder."""
    before = time.time() - ABANDONED
    above = path.rpartition("/")[0]
    with contextlib.suppress(Refused, OSError), root.folder(above) as folder, os.scandir(folder) as entries:
        for one in [one for one in entries if one.name.startswith(PART)]:
            status = one.stat(follow_symlinks=False)
            if status.st_uid != uid or status.st_mtime >= before:
                continue
            if stat.S_ISDIR(status.st_mode):  # an archive that was being unpacked
                Deletion(status.st_dev).folder(folder, one.name)
            else:
                os.unlink(one.name, dir_fd=folder)


def take_piece(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """The next bytes of an upload: `size` of them, at `offset`, with their SHA-256 where it is known."""
    offset, refused = asked["offset"], None
    try:
        with root.parent(asked["path"]) as (above, _), _part(above, asked["id"], uid) as part:
            have = os.fstat(part).st_size
            if have != offset:
                raise Refused("offset", offset=have)
            try:
                _write_piece(channel, part, asked)
            except BaseException as error:  # whatever it was: nothing of this piece stays
                refused = error if isinstance(error, Refused) else of(error) if isinstance(error, OSError) else None
                _take_back(above, PART + asked["id"], part, offset, refused)
                if refused is None:
                    raise
                raise refused from error
    except Refused:
        _drain(channel, refused)
        raise
    channel.send(ANSWER, pack({"offset": offset + asked["size"]}))


def _take_back(above: int, name: str, part: int, offset: int, refused: Refused | None) -> None:
    """Cut the part back to where the piece began; where there is no room, or not even for that, it goes whole."""
    if refused is None or refused.answer not in ("full", "quota"):
        with contextlib.suppress(OSError):
            os.ftruncate(part, offset)
            return
    os.unlink(name, dir_fd=above)


class _Short(Refused):
    """The packets ended before the piece did: there is nothing left to drain."""


def _write_piece(channel: Channel, part: int, asked: dict[str, Any]) -> None:
    at, end, digest = asked["offset"], asked["offset"] + asked["size"], hashlib.sha256()
    while True:
        word, data = channel.receive()
        if word == END:
            break
        if word != DATA or at + len(data) > end:
            raise BadPacket("more than the piece was to have")
        if asked["digest"]:
            digest.update(data)
        while data:
            written = os.pwrite(part, data, at)
            at, data = at + written, data[written:]
    if at != end or (asked["digest"] and digest.hexdigest() != asked["digest"]):
        raise _Short("digest")


def _drain(channel: Channel, refused: Refused | None) -> None:
    """Hear the sender out, so that the refusal reaches them."""
    while not isinstance(refused, _Short) and channel.receive()[0] != END:
        pass


def check(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """SHA-256 of a whole upload, once its bytes are on the disk, and the stamp by which it is known again.

    That takes as long as it takes: signs of life say how far it is, and who hangs up ends it.
    """
    check_new(asked["path"])
    with root.parent(asked["path"]) as (above, name), _part(above, asked["id"], uid) as part:
        status = os.fstat(part)
        if status.st_size != asked["size"]:
            raise Refused("offset", offset=status.st_size)
        _check_target(above, name, overwrite=asked["overwrite"])
        _allow(status.st_size)
        digest = _digest(channel, part, status.st_size)
        if asked["digest"] and digest != asked["digest"]:
            os.unlink(PART + asked["id"], dir_fd=above)
            raise Refused("digest")
        if _stamp(os.fstat(part)) != _stamp(status):  # its owner wrote into it meanwhile
            raise Refused("changed")
    channel.send(ANSWER, pack({"digest": digest, "stamp": _stamp(status)}))


def _stamp(status: os.stat_result) -> str:
    """The same as long as it is this file, of this length, and nobody wrote into it: also under another name."""
    return f"{status.st_dev:x}.{status.st_ino:x}.{status.st_size:x}.{status.st_mtime_ns:x}"


def _allow(size: int) -> None:
    """More seconds of CPU for more bytes."""
    now, most = resource.getrlimit(resource.RLIMIT_CPU)
    if resource.RLIM_INFINITY not in (now, most):
        resource.setrlimit(resource.RLIMIT_CPU, (min(most, now + size // SLOWEST), most))


def _digest(channel: Channel, part: int, size: int) -> str:
    """SHA-256 of all of it, read while the disk takes it."""
    whole, life, checked = hashlib.sha256(), Life(channel), 0
    with ThreadPoolExecutor(1) as beside:
        written = beside.submit(os.fsync, part)
        life.sign(checked=0)
        for piece in pieces(part, 0, size):
            whole.update(piece)
            checked += len(piece)
            life.sign(checked=checked)
        until = time.monotonic() + SYNCING
        while not written.done() and time.monotonic() < until:
            wait([written], BEAT)
            life.sign(checked=checked)
        written.result()
    return whole.hexdigest()


def finish(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """Give a checked upload its name. One that has it already is well: an answer that was lost can be asked for again,
    and does not say any more whether something was replaced."""
    check_new(asked["path"])
    with root.parent(asked["path"]) as (above, name):
        replaced = None
        if _stamp_at(above, PART + asked["id"]) or _stamp_at(above, name) != asked["stamp"]:
            replaced = _give_name(above, name, uid, asked)
        there = os.stat(name, dir_fd=above, follow_symlinks=False)
        if _stamp(there) != asked["stamp"]:  # somebody swapped it a moment ago
            raise Refused("changed")
    channel.send(ANSWER, pack({"entry": row(name, there), "replaced": replaced}))


def _stamp_at(above: int, name: str) -> str:
    with contextlib.suppress(FileNotFoundError):
        return _stamp(os.stat(name, dir_fd=above, follow_symlinks=False))
    return ""


def _give_name(above: int, name: str, uid: int, asked: dict[str, Any]) -> bool:
    with _part(above, asked["id"], uid) as part:
        if _stamp(os.fstat(part)) != asked["stamp"]:
            raise Refused("changed")
        replaced = _check_target(above, name, overwrite=asked["overwrite"])
        os.fchmod(part, 0o660 if is_shared(above) else 0o600)
        os.fsync(part)  # now of what the line before changed
        _into_place(above, PART + asked["id"], name, replaced=replaced)
    return replaced


def _into_place(above: int, part: str, name: str, *, replaced: bool) -> None:
    if replaced:
        os.rename(part, name, src_dir_fd=above, dst_dir_fd=above)
    else:
        rename_to_new(above, part, above, name)


def abandon(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """Take an unfinished upload away."""
    with root.parent(asked["path"]) as (above, _), _part(above, asked["id"], uid):
        os.unlink(PART + asked["id"], dir_fd=above)
    channel.send(ANSWER, pack({}))
