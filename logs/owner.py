"""What the opener's short-lived child does: become the job's owner, open one file without following anything."""

from __future__ import annotations

import ctypes
import errno
import os
import pwd
import resource
import stat
from collections.abc import Callable
from typing import Any

from logs.tickets import LOWEST_UID, Ticket

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PATH = getattr(os, "O_PATH", 0o10000000)  # a folder one may pass through but not list is enough
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NOGROUP = 65534
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_libc = ctypes.CDLL(None, use_errno=True)  # loaded before anybody's uid is taken on

ANSWERS = {
    errno.ENOENT: "missing",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.ENOTDIR: "denied",  # a folder on the way is a link or no folder
    errno.ELOOP: "not-regular",  # the file became a link between look and open
    errno.ENXIO: "not-regular",  # it became a socket
}


class Refusal(Exception):
    """Why there is no descriptor, as the one word the reader gets."""

    def __init__(self, answer: str) -> None:
        super().__init__(answer)
        self.answer = answer


def open_as_owner(ticket: Ticket, stream: str) -> int:
    """Become the ticket's owner for good and give a descriptor of the stream's file; raises Refusal."""
    become(ticket.uid, ticket.user)
    try:
        descriptor = open_no_follow(ticket.path(stream))
    except OSError as error:
        raise Refusal(ANSWERS.get(error.errno or 0, "failed")) from error
    check_descriptor(descriptor, ticket.uid)
    return descriptor


def become(uid: int, user: str) -> None:
    """Take on uid, gid and groups of a person and lose root for ever; raises Refusal where name and uid disagree."""
    if uid < LOWEST_UID:  # the ticket was checked already; root must not depend on one check
        raise Refusal("denied")
    gid = _primary_group(uid, user)
    _forbid_new_privileges()
    if gid == _NOGROUP:
        os.setgroups([])
    else:
        os.initgroups(user, gid)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # the owner's other processes may neither trace nor read this one
    if os.getresuid() != (uid, uid, uid) or _can_be_root():
        raise Refusal("failed")


def open_no_follow(path: str) -> int:
    """Open an absolute, normalised path component by component; a link anywhere on it is an OSError, never followed.

    Walking by descriptors leaves nothing to swap: each step looks up one name inside the folder already held.
    """
    *folders, name = path.split("/")[1:]
    held = os.open("/", _FOLDER | _PATH)
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER | _PATH, dir_fd=held)
            os.close(held)
            held = below
        if not stat.S_ISREG(os.stat(name, dir_fd=held, follow_symlinks=False).st_mode):
            raise Refusal("not-regular")  # so that no device and no FIFO is opened even for a moment
        return os.open(name, _FILE, dir_fd=held)
    finally:
        os.close(held)


def check_descriptor(descriptor: int, uid: int) -> None:
    """Raise Refusal (and close) unless what was really opened is a regular file of this uid."""
    status = os.fstat(descriptor)
    answer = ""
    if not stat.S_ISREG(status.st_mode):
        answer = "not-regular"
    elif status.st_uid != uid:  # a hard link to somebody else's file, or another user's log
        answer = "not-owner"
    if answer:
        os.close(descriptor)
        raise Refusal(answer)


def _primary_group(uid: int, user: str) -> int:
    """The person's group as the machine knows it. A uid unknown by name and number goes without any group."""
    entry = _entry(pwd.getpwnam, user) or _entry(pwd.getpwuid, uid)
    if entry is None:
        return _NOGROUP
    if entry.pw_uid != uid or entry.pw_name != user:  # the number or the name has passed to somebody else
        raise Refusal("denied")
    return entry.pw_gid


def _entry(look_up: Callable[[Any], pwd.struct_passwd], key: str | int) -> pwd.struct_passwd | None:
    try:
        return look_up(key)
    except KeyError:
        return None


def _forbid_new_privileges() -> None:
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _can_be_root() -> bool:
    try:
        os.setuid(0)
    except PermissionError:
        return False
    return True
