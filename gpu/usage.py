"""What a job uses of its node beside the GPUs: from its cgroup, and from /proc where it has none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpu.procfs import PAGE, TICKS, Proc
from gpu.text import Reading
from gpu.whose import Whose

RESOURCES = ("cpu", "memory", "io")


class Usage:
    """Readings of all jobs of a node. `cgroups` is /sys/fs/cgroup."""

    def __init__(self, whose: Whose, cgroups: Path = Path("/sys/fs/cgroup")) -> None:
        self.whose, self.cgroups = whose, cgroups
        self._kept: dict[str, dict[int, tuple[int, tuple[int, int] | None]]] = {}  # job -> process -> CPU, its I/O

    def readings(self) -> Iterator[Reading]:
        """After `whose.look()`."""
        now = self.whose.now
        self._kept = {job: kept for job, kept in self._kept.items() if job in now.members}
        for job, pids in now.members.items():
            yield Reading("bancada_job_processes", (job,), len(pids))
            cpu, memory, io = self._of_processes(job, pids)
            path = now.paths.get(job)
            yield Reading("bancada_job_cpu_seconds_total", (job,), self._cpu(path) or cpu)
            yield Reading("bancada_job_memory_bytes", (job,), self._memory(path) or memory)
            if io := io or self._io(path):
                yield Reading("bancada_job_read_bytes_total", (job,), io[0])
                yield Reading("bancada_job_written_bytes_total", (job,), io[1])
            if path:
                for resource, value in pressures(self.cgroups / path.lstrip("/"), "{}.pressure"):
                    yield Reading("bancada_job_pressure_ratio", (job, resource), value)

    def _of_processes(self, job: str, pids: list[int]) -> tuple[float, float, tuple[int, int] | None]:
        """CPU seconds, resident bytes, bytes read and written; what processes that ended had used stays counted."""
        proc, kept, pages = self.whose.proc, self._kept.setdefault(job, {}), 0
        for pid in pids:
            pages += self.whose.now.stats[pid].pages
            kept[pid] = (own_cpu(proc, pid), proc.io(pid))
        moved = [io for _cpu, io in kept.values() if io]
        io = (sum(done for done, _ in moved), sum(written for _, written in moved)) if moved else None
        return sum(cpu for cpu, _io in kept.values()) / TICKS, pages * PAGE, io

    def _io(self, path: str | None) -> tuple[int, int] | None:
        """Bytes from and to block devices, by the cgroup (version 2)."""
        lines = _lines(self.cgroups / path.lstrip("/") / "io.stat") if path else []
        words = [word.partition("=") for line in lines for word in line.split()[1:]]
        totals = {name: sum(int(value) for key, _, value in words if key == name) for name in ("rbytes", "wbytes")}
        return (totals["rbytes"], totals["wbytes"]) if words else None

    def _cpu(self, path: str | None) -> float | None:
        if path is None:
            return None
        for line in _lines(self.cgroups / path.lstrip("/") / "cpu.stat"):
            if line.startswith("usage_usec "):
                return int(line.split()[1]) / 1e6
        spent = _lines(self.cgroups / "cpuacct" / path.lstrip("/") / "cpuacct.usage")
        return int(spent[0]) / 1e9 if spent else None

    def _memory(self, path: str | None) -> float | None:
        if path is None:
            return None
        for file in (self.cgroups / path.lstrip("/"), self.cgroups / "memory" / path.lstrip("/")):
            rows = dict(line.split()[:2] for line in _lines(file / "memory.stat") if " " in line)
            for name in ("anon", "total_rss", "rss"):
                if name in rows:
                    return int(rows[name])
        return None


def own_cpu(proc: Proc, pid: int) -> int:
    """Clock ticks of a process itself, without its dead children: these were counted while they lived."""
    words = proc.read(pid, "stat").rpartition(b")")[2].split()
    return int(words[11]) + int(words[12]) if len(words) > 12 else 0


def pressures(folder: Path, pattern: str) -> Iterator[tuple[str, float]]:
    """(resource, share of the last 10 s) of a folder's pressure files."""
    for resource in RESOURCES:
        for line in _lines(folder / pattern.format(resource)):
            if line.startswith("some avg10="):
                yield resource, float(line.split()[1].partition("=")[2]) / 100


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
