"""How much a folder's file system lets a person and a project use, by whichever of its ways it tells.

Asked as the person, of the folder held open: the kernel's quotas (ext4, XFS), CephFS' quota of a folder, Lustre's by
its own command. What a file system does not tell is left out, never guessed.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import struct
import subprocess
from collections.abc import Callable, Iterator

_QUOTACTL_FD = 443  # the same number on every architecture
_GET_QUOTA = 0x800007
_BLOCKS = struct.Struct("=8Q2I")  # struct if_dqblk of <linux/quota.h>; limits in KiB, what is used in bytes
_KINDS = {"user": 0, "group": 1}
_LFS = "/usr/bin/lfs"
_PATIENCE = 3.0  # seconds for a command
_libc = ctypes.CDLL(None, use_errno=True)
Attribute = Callable[[int, str], bytes]
Run = Callable[[list[str], int], str]


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    """`kind`: user, group or folder; bytes and files used and allowed, 0 where there is no bound."""

    kind: str
    used: int
    limit: int
    files: int
    files_limit: int


def of_folder(folder: int, uid: int, gid: int) -> list[Limit]:
    """All bounds that are told of a folder held open, for a person and the folder's group."""
    asked = [("user", uid), ("group", gid)]
    found = [one for kind, number in asked if (one := kernel(folder, kind, number))]
    if folder_limit := ceph(folder):
        found.append(folder_limit)
    if not found and os.access(_LFS, os.X_OK):
        found = [one for kind, number in asked if (one := lustre(folder, kind, number))]
    return [one for one in found if one.limit or one.files_limit]


def told(folder: int, uid: int) -> tuple[list[int], list[list[str | int]]]:
    """As it travels: bytes free and in all and files that may still be made, for who is not root; and the bounds."""
    room = os.fstatvfs(folder)
    bounds = of_folder(folder, uid, os.fstat(folder).st_gid)
    size = room.f_frsize
    return (
        [room.f_bavail * size, room.f_blocks * size, room.f_favail],
        [list(dataclasses.astuple(one)) for one in bounds],
    )


def kernel(folder: int, kind: str, number: int) -> Limit | None:
    """The kernel's own quota; None where the file system keeps none or does not say."""
    room = ctypes.create_string_buffer(_BLOCKS.size)
    command = _GET_QUOTA << 8 | _KINDS[kind]
    if _libc.syscall(_QUOTACTL_FD, folder, command, number, room):
        return None
    return read_kernel(kind, room.raw)


def read_kernel(kind: str, raw: bytes) -> Limit:
    """What quotactl wrote. The hard limit counts, and the soft one where there is no hard one."""
    hard, soft, used, files_hard, files_soft, files, *_ = _BLOCKS.unpack(raw)
    return Limit(kind, used, (hard or soft) * 1024, files, files_hard or files_soft)


def ceph(folder: int, attribute: Attribute = os.getxattr) -> Limit | None:
    """CephFS tells a folder's bound and what lies beneath it in attributes."""
    try:
        used, files = int(attribute(folder, "ceph.dir.rbytes")), int(attribute(folder, "ceph.dir.rfiles"))
    except (OSError, ValueError):
        return None
    bounds = []
    for name in ("ceph.quota.max_bytes", "ceph.quota.max_files"):
        with contextlib.suppress(OSError, ValueError):
            bounds.append(int(attribute(folder, name)))
            continue
        bounds.append(0)
    return Limit("folder", used, bounds[0], files, bounds[1])


def _run(command: list[str], folder: int) -> str:
    """What a command says of the folder it is handed; nothing where it fails or takes its time."""
    try:
        told = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE, check=True,
            env={"LC_ALL": "C"}, cwd="/", pass_fds=(folder,),
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    return told.stdout


def lustre(folder: int, kind: str, number: int, run: Run = _run) -> Limit | None:
    """`lfs quota -q`: KiB used, soft, hard, grace, files, soft, hard, grace; a star marks what is over its bound."""
    words = run([_LFS, "quota", "-q", f"-{kind[0]}", str(number), f"/proc/self/fd/{folder}"], folder).split()
    numbers = list(_numbers(words))
    if len(numbers) != 6:
        return None
    used, soft, hard, files, files_soft, files_hard = numbers
    return Limit(kind, used * 1024, (hard or soft) * 1024, files, files_hard or files_soft)


def _numbers(words: list[str]) -> Iterator[int]:
    """The six numbers among the nine words of a line (the path first, a grace fourth and last)."""
    for place in (1, 2, 3, 5, 6, 7):
        text = words[place].strip("*[]") if len(words) == 9 else ""
        if text.isascii() and text.isdigit():
            yield int(text)
