"""What /proc says of a process; None or nothing where it is gone or closed to us."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

from gpu import memory

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
MOST = 256 * 1024  # bytes of an environment that are looked at
SYSTEM = Path("/proc")


class Stat(NamedTuple):
    """The part of /proc/PID/stat that is used; times in clock ticks."""

    comm: str
    parent: int
    cpu: int
    started: int
    pages: int


class Proc:
    """One /proc, or what a test puts in its place."""

    def __init__(self, root: str = "/proc") -> None:
        self.root = Path(root)

    def read(self, pid: int | str, name: str) -> bytes:
        """A small file of a process; empty where it cannot be read."""
        try:
            with open(f"{self.root}/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123 - thousands a look
                return file.read(MOST)
        except OSError:
            return b""

    def clock(self) -> int:
        """Now, in clock ticks since the machine began: what a process's start is told in."""
        return int(time.clock_gettime(time.CLOCK_BOOTTIME) * TICKS)

    def pids(self) -> list[int]:
        """All there are."""
        return [int(name) for name in os.listdir(self.root) if name.isdigit()]  # noqa: PTH208 - no Path for each

    def stat(self, pid: int) -> Stat | None:
        """Parent, CPU time of itself and of its dead children, start, resident pages."""
        raw = self.read(pid, "stat")
        left, _, rest = raw.rpartition(b")")
        words = rest.split()
        if len(words) < 22:
            return None
        cpu = sum(map(int, words[11:15]))
        comm = left.partition(b"(")[2].decode(errors="replace")
        return Stat(comm, int(words[1]), cpu, int(words[19]), int(words[21]))

    def uids(self, pid: int) -> tuple[int, ...]:
        """Real, effective, saved and file system uid."""
        for line in self.read(pid, "status").splitlines():
            if line.startswith(b"Uid:"):
                return tuple(map(int, line.split()[1:5]))
        return ()

    def words(self, pid: int, name: str) -> list[str]:
        """cmdline or environ, as the list of strings it is."""
        return [word.decode(errors="replace") for word in self.read(pid, name).split(b"\0") if word]

    def environment(self, pid: int) -> dict[str, str]:
        """What it was started with."""
        raw = self.read(pid, "environ") or self._from_memory(pid)
        words = (word.decode(errors="replace").partition("=") for word in raw.split(b"\0"))
        return {name: value for name, sign, value in words if sign}

    def _from_memory(self, pid: int) -> bytes:
        """The same, where only CAP_SYS_PTRACE is ours: the file is its owner's alone, the memory behind it is not."""
        words = self.read(pid, "stat").rpartition(b")")[2].split()
        if len(words) < 49 or self.root != SYSTEM:
            return b""
        start, end = int(words[47]), int(words[48])
        return memory.read(pid, start, min(end - start, MOST)) if end > start else b""

    def io(self, pid: int) -> tuple[int, int] | None:
        """Bytes read and written by its calls, whatever the file; None where it is closed to us."""
        rows = dict(line.split(b": ") for line in self.read(pid, "io").splitlines() if b": " in line)
        return (int(rows[b"rchar"]), int(rows[b"wchar"])) if {b"rchar", b"wchar"} <= rows.keys() else None
