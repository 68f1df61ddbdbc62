"""P4: how long advice on a request takes, each request another one, with jobs that run and wait, beside the bare page."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator

from tests.bench import floor
from tests.bench.accepting import timed
from tests.bench.figures import Figure, quantile
from tests.bench.place import PROJECT, Client, Place
from tests.bench.seed import fill

PERSON = "ana"
WARM = 8
LIMIT = 150.0  # ms
SCRIPT = "#!/bin/bash\ntrue\n"


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """Every question is asked once: what is kept is the picture, not the answer."""
    jobs, rounds = (10_000, 60) if small else (100_000, 400)
    fill(place, jobs, jobs)
    with floor.page(place, small=small) as bare:
        ours, base = _in_turn(place.api(PERSON), bare, rounds)
    worst, ratio = quantile(ours, 0.95), quantile(ours, 0.95) / quantile(base, 0.95)
    yield Figure(
        "P4", f"advice on a request, {rounds} different ones, {jobs:,} jobs, p50 / p95",
        f"{quantile(ours, 0.5):.1f} / {worst:.1f} ms", f"bare Django page {quantile(base, 0.95):.1f} ms at p95",
        f"{ratio:.1f}", f"p95 ≤ {LIMIT:.0f} ms", worst <= LIMIT,
    )  # fmt: skip


def _in_turn(client: Client, bare: Client, rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of both."""
    ours, base = list[float](), list[float]()
    for number in itertools.count(-WARM):
        if number >= rounds:
            return ours, base
        pair_of_times = _asked(client, number + WARM), timed(bare)
        if number >= 0:
            ours.append(pair_of_times[0])
            base.append(pair_of_times[1])


def _asked(client: Client, number: int) -> float:
    body = {"project": PROJECT, "name": f"ask-{number}", "partition": "gpu", "gpus": 1 + number % 4, "cpus": 1,
            "memory_gb": 1, "time_limit_minutes": 5 + number % 1000, "script": SCRIPT}  # fmt: skip
    began = time.perf_counter()
    answer = client.post("/api/v1/jobs/advice", json.dumps(body).encode(), **{"Content-Type": "application/json"})
    took = 1000 * (time.perf_counter() - began)
    assert answer.status == 200, answer.body
    return took
