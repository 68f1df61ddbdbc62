"""Whose a process is: by its cgroup, then by its descent from slurmstepd, then by its own word where its uid is the
job's. A process can lie about itself, so that its own word never makes a job that does not run on this node."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import defaultdict
from pathlib import Path

from gpu.procfs import Proc, Stat

OUTSIDE, UNKNOWN = "outside", "unknown"
KERNEL = 2  # the parent of kernel threads
# anchored: below their own part of the tree people may make folders of any name
_CGROUPS = (
    re.compile(r"^/slurm(?:_[\w.-]+)?/uid_\d+/job_(\d+)(?=/|$)"),  # version 1
    re.compile(r"^/system\.slice/(?:[\w.-]+_)?slurmstepd\.scope/job_(\d+)(?=/|$)"),  # version 2
)
_STEP = re.compile(r"^slurmstepd: \[(\d+)\.")
_SOCKET = re.compile(r"^(.+)_(\d+)\.\d+(?:\.\d+)?$")


def job_of_cgroup(content: bytes) -> tuple[str, str]:
    """(job, its own path) of a /proc/PID/cgroup; ("", "") where it is in no job's."""
    for line in content.decode(errors="replace").splitlines():
        path = line.split(":", 2)[-1]
        for pattern in _CGROUPS:
            if found := pattern.match(path):
                return found[1], found[0]
    return "", ""


@dataclasses.dataclass(slots=True)
class Node:
    """The processes of a node as one look saw them."""

    stats: dict[int, Stat]
    steps: dict[int, str]  # pid of a slurmstepd -> job
    members: dict[str, list[int]]  # job -> its processes
    uids: dict[str, int]  # job -> uid of its person
    paths: dict[str, str]  # job -> its cgroup
    began: int = 0  # when the look began, in clock ticks since the machine did
    asked: dict[int, str] = dataclasses.field(default_factory=dict)


class Whose:
    """`look()` at the node, then ask `job_of(pid)`. `spool`: slurmd's folder of this node, whose sockets (made by
    root) say which jobs run here; `node` its name, where several slurmd share one machine."""

    def __init__(self, proc: Proc, *, spool: Path | None = None, node: str = "") -> None:
        self.proc, self.spool, self.node = proc, spool, node
        self.now = Node({}, {}, {}, {}, {})
        self.cgroups: dict[tuple[int, int], tuple[str, str]] = {}  # a process seldom moves: read once

    def look(self) -> Node:
        """See all processes anew."""
        began = self.proc.clock()
        stats = {pid: stat for pid in self.proc.pids() if (stat := self.proc.stat(pid))}
        steps = self._steps(stats)
        self.now = Node(stats, steps, {}, {}, {}, began)
        members: dict[str, list[int]] = defaultdict(list)
        for pid in stats:
            job = steps.get(pid) or self._by_cgroup(pid) or self._by_descent(pid)
            if job:
                self.now.asked[pid] = job
                members[job] += [] if pid in steps else [pid]
        self.now.members = dict(members)
        self.cgroups = {key: value for key, value in self.cgroups.items() if key[0] in stats}
        self.now.uids = {job: uid for job in members if (uid := self._uid(job)) is not None}
        return self.now

    def job_of(self, pid: int) -> str:
        """Its job; OUTSIDE where it is seen to have none, UNKNOWN where it cannot be looked at."""
        if pid not in self.now.asked:
            self.now.asked[pid] = self._ask(pid)
        return self.now.asked[pid]

    def _ask(self, pid: int) -> str:
        stat = self.proc.stat(pid)
        if stat is None:
            return UNKNOWN  # in another namespace, or just gone
        self.now.stats[pid] = stat
        found = self._by_cgroup(pid) or self._by_descent(pid) or self._by_its_word(pid)
        return found or (UNKNOWN if stat.started >= self.now.began else OUTSIDE)  # its step may be as new as itself

    def _by_cgroup(self, pid: int) -> str:
        stat = self.now.stats[pid]
        if stat.parent == KERNEL:
            return ""
        key = (pid, stat.started)
        job, path = self.cgroups[key] = self.cgroups.get(key) or job_of_cgroup(self.proc.read(pid, "cgroup"))
        if job:
            self.now.paths[job] = path
        return job

    def _by_descent(self, pid: int) -> str:
        seen: set[int] = set()
        while pid > 1 and pid not in seen:
            if pid in self.now.steps:
                return self.now.steps[pid]
            seen.add(pid)
            stat = self.now.stats.get(pid)
            pid = stat.parent if stat else 0
        return ""

    def _by_its_word(self, pid: int) -> str:
        """For who left the tree: it must be the job's person, and the job must run here."""
        job = self.proc.environment(pid).get("SLURM_JOB_ID", "")
        uids = self.proc.uids(pid)
        return job if job in self.now.uids and uids and set(uids) == {self.now.uids[job]} else ""

    def _steps(self, stats: dict[int, Stat]) -> dict[int, str]:
        here = self._here()
        found = {}
        for pid, stat in stats.items():
            if stat.comm == "slurmstepd" and set(self.proc.uids(pid)) == {0}:
                title = _STEP.match(" ".join(self.proc.words(pid, "cmdline")))
                if title and (here is None or title[1] in here):
                    found[pid] = title[1]
        return found

    def _here(self) -> set[str] | None:
        """Jobs with a step on this node, by the sockets of their steps; None where nobody said where these lie."""
        if self.spool is None:
            return None
        names = [_SOCKET.match(name) for name in _of_root(self.spool)]
        return {name[2] for name in names if name and (not self.node or name[1] == self.node)}

    def _uid(self, job: str) -> int | None:
        """The person of a job: the owner of its folder in the spool, else of the first process of a step."""
        if self.spool is not None:
            try:
                owner = (self.spool / f"job{int(job):05d}").stat().st_uid
            except OSError:
                owner = 0
            if owner:
                return owner
        for pid in self.first(job):
            if uids := self.proc.uids(pid):
                return uids[0]
        return None

    def first(self, job: str) -> list[int]:
        """What Slurm itself started of a job: the children of its steps."""
        mine = {pid for pid, other in self.now.steps.items() if other == job}
        return [pid for pid in self.now.members.get(job, ()) if self.now.stats[pid].parent in mine]


def _of_root(folder: Path) -> list[str]:
    """Names of what root made in a folder; nothing where it is not there."""
    try:
        return [entry.name for entry in os.scandir(folder) if entry.stat(follow_symlinks=False).st_uid == 0]
    except OSError:
        return []
