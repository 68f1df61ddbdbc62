"""L1: the 50 newest jobs of a million against the same page at a thousand. S1: a sweep as one array against sbatch alone."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterator

from tests.bench.figures import Figure
from tests.bench.place import RESEARCHERS, Place, request, submit, until
from tests.bench.submitting import MINE, SCRIPT, drained, sbatch
from tests.bench.trail import PYTHON, RUN, USER

NAME = "bench_lists"
FEW, MANY = 1_000, 1_000_000
TASKS = 1_000
_run = itertools.count()


def newest(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """Pages of a portal of its own, in a database of its own beside the stack's."""
    many = 50_000 if small else MANY
    with place.connect("postgres") as server:
        server.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {NAME}")
        try:
            line = f"cd /srv/bancada && {PYTHON} -m tests.bench.lists_inside {NAME} {RUN} {FEW} {many}"
            said = place.inside_as(USER, "sh", "-c", line)
            yield from figures(json.loads(said.splitlines()[-1]), many)
        finally:
            server.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")


def figures(found: dict[str, list[float]], many: int) -> Iterator[Figure]:
    """A row a page: milliseconds (p50) and SQL statements at both sizes."""
    for path, (few, queries_few, lots, queries, size) in found.items():
        yield Figure(
            "L1", f"{path}, 50 newest of {many:,} jobs, p50", f"{lots:.1f} ms, {queries:.0f} queries, {size / 1000:.0f} kB",
            f"of {FEW:,} jobs {few:.1f} ms, {queries_few:.0f} queries", f"{lots / few:.2f}",
            "≤ 1.2 ×, ≤ 8 queries, refresh ≤ 50 kB", lots / few <= 1.2 and queries <= 8 and size <= 50_000,
        )  # fmt: skip


def sweep(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """From the request to the number in Slurm."""
    tasks = 100 if small else TASKS
    with drained(place):
        alone = tasks / sbatch(place, tasks, 1)
    with drained(place):
        whole = _array(place, tasks)
    yield Figure(
        "S1", f"a sweep of {tasks:,} tasks, until it has its number in Slurm", f"{whole:.2f} s",
        f"{tasks:,} × `sbatch` {alone:.1f} s", f"{alone / whole:.0f} × faster", "≥ 20 ×", alone / whole >= 20,
    )  # fmt: skip


def _array(place: Place, tasks: int) -> float:
    name = f"bench-sweep-{os.getpid()}-{next(_run)}"
    rows = [{"rate": number / 1000} for number in range(tasks)]
    body, caller, began = request(name, SCRIPT, parameters=rows), place.api(RESEARCHERS[0]), time.time()
    submit(caller, body)
    last = "max(extract(epoch FROM h.accepted_at))"
    until(lambda: place.one(MINE.format(last), name), seconds=60, what="the array is accepted", every=0.05)
    return float(place.one(MINE.format(last), name)) - began
