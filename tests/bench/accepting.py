"""P3: how long a person waits for "accepted", beside a bare Django page; and until the number in Slurm, beside `sbatch`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from tests.bench import floor
from tests.bench.figures import Figure, pair, quantile
from tests.bench.place import PARTITION, PROJECT, RESEARCHERS, Client, Place, request, submit
from tests.bench.submitting import SCRIPT, drained

PAUSE = 0.2  # seconds between two: one person, not a burst


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """All three interleaved: what the machine does meanwhile meets each alike."""
    rounds = 20 if small else 100
    with floor.page(place, small=small) as bare, drained(place):
        accept, number, page, direct = interleaved(place, bare, rounds)
    ratio = quantile(accept, 0.5) / quantile(page, 0.5)
    yield Figure(
        "P3", "POST of a job to 201, p50 / p99", pair(accept), f"bare Django page {pair(page)}", f"{ratio:.2f}",
        "p50 ≤ 3 ×, p99 ≤ 150 ms", ratio <= 3 and quantile(accept, 0.99) <= 150,
    )  # fmt: skip
    slower = quantile(number, 0.5) - quantile(direct, 0.5)
    yield Figure(
        "P3", "POST to the number in Slurm, p50 / p99", pair(number), f"one `sbatch` {pair(direct)}",
        f"{slower:+.0f} ms", "p50 ≤ `sbatch` + 50 ms", slower <= 50,
    )  # fmt: skip


def interleaved(place: Place, bare: Client, rounds: int) -> tuple[list[float], list[float], list[float], list[float]]:
    """Milliseconds of each: accepted, number known, the bare page, `sbatch`."""
    caller, name = place.api(RESEARCHERS[0]), f"bench-{os.getpid()}-accept"
    submit(caller, request(name, SCRIPT))
    accept, number, page = list[float](), list[float](), list[float]()
    for _ in range(rounds):
        time.sleep(PAUSE)
        page.append(timed(bare))
        began = time.perf_counter()
        job = submit(caller, request(name, SCRIPT))
        accept.append((time.perf_counter() - began) * 1e3)
        number.append(until_numbered(place, job, began))
    return accept, number, page, sbatch(place, rounds)


def timed(client: Client, path: str = "/") -> float:
    """Milliseconds of one GET."""
    began = time.perf_counter()
    answer = client.get(path)
    if answer.status != 200:
        raise SystemExit(f"{path} answered {answer.status}")
    return (time.perf_counter() - began) * 1e3


def until_numbered(place: Place, job: str, began: float) -> float:
    """Milliseconds until anybody can see it; looked for in the row, so that looking costs the portal nothing."""
    while not place.rows("SELECT 1 FROM jobs_job WHERE id = %s AND slurm_job_id IS NOT NULL", job):
        if time.perf_counter() - began > 60:
            raise SystemExit("a job got no number within a minute")
        time.sleep(0.004)
    return (time.perf_counter() - began) * 1e3


LOOP = """
import subprocess, sys, time
for _ in range(int(sys.argv[1])):
    time.sleep(0.2)
    began = time.perf_counter()
    subprocess.run(sys.argv[2:], check=True, stdout=subprocess.DEVNULL)
    print((time.perf_counter() - began) * 1e3)
"""


def sbatch(place: Place, rounds: int) -> list[float]:
    """Milliseconds of single calls, by the same person in the same folder."""
    folder = f"/srv/var/projects/{PROJECT}"
    place.inside_as(RESEARCHERS[0], "bash", "-c", f"printf '%s' '{SCRIPT}' >{folder}/bench.sh")
    words = ["sbatch", "-A", PROJECT, "-p", PARTITION, "-n1", "-c1", "--mem=1G", "-t10", "-D", folder]
    words += ["-o", f"{folder}/logs/bench-%j.out", f"{folder}/bench.sh"]
    said = place.inside_as(RESEARCHERS[0], "/usr/bin/python3", "-c", LOOP, str(rounds), *words)
    return [float(line) for line in said.split()]
