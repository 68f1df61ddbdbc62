"""Pid files that cannot lie: a pid is believed only together with the moment its process started."""

from __future__ import annotations

from pathlib import Path


def started(pid: int) -> str:
    """When the process started, in clock ticks since boot; empty if there is none (a zombie counts as none)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def write(path: Path, pid: int) -> None:
    path.write_text(f"{pid} {started(pid)}\n")


def read(path: Path) -> int | None:
    """The pid, if that very process still runs."""
    try:
        pid, since = path.read_text().split()
    except (OSError, ValueError):
        return None
    return int(pid) if since and started(int(pid)) == since else None
