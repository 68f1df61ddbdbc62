"""What the sealer costs whoever submits: blocks of submissions with it running and stopped, turn about, in one run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

BLOCKS, EACH = 24, 40  # blocks of submissions; half of them with the sealer stopped
RATE = 1000  # events a second that others write meanwhile
RAW = {"name": "bench", "partition": "gpu", "gpus": 1, "time_limit_minutes": 1, "script": "#!/bin/bash\ntrue\n"}


def beside(folder: Path) -> dict[str, float]:
    """Milliseconds of a submission (the service: checks, hold, row, event, one transaction), sealer stopped, running."""
    submit = _desk()
    writer = subprocess.Popen([sys.executable, "-m", "tests.bench.trail_writer", str(RATE)])
    sealer = subprocess.Popen(
        [sys.executable, "manage.py", "seal", "--skip-checks"],
        env=os.environ | {"BANCADA_SEAL_KEY": f"{folder}/seal.pem"},
    )
    try:
        time.sleep(8)
        times = list(_blocks(submit, sealer))
    finally:
        sealer.send_signal(signal.SIGCONT)
        for process in (writer, sealer):
            process.terminate()
            process.wait(30)
    stopped, running = (median([took for off, took in times if off is which]) for which in (True, False))
    pairs = [on[1] / off[1] for off, on in zip(times[::2], times[1::2], strict=True)]
    return {"submit_stopped": stopped, "submit_running": running, "submit_ratio": median(pairs)}


def _blocks(submit: Any, sealer: Any) -> Iterator[tuple[bool, float]]:
    """(whether the sealer was stopped, median milliseconds) of each block; the first ones warm up and do not count."""
    for number in range(-2, BLOCKS):
        stopped = number % 2 == 0
        sealer.send_signal(signal.SIGSTOP if stopped else signal.SIGCONT)
        took = median([_timed(submit) for _ in range(EACH)])
        if number >= 0:
            yield stopped, took


def _timed(act: Any) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def _desk() -> Any:
    """Somebody, a project with room, a cluster: what submits one job."""
    from django.conf import settings

    from access.roles import Role
    from jobs import services
    from tests.factories import make_allocation, make_cluster, make_member, make_project

    make_cluster(settings.CLUSTER_NAME)
    project = make_project("bench")
    make_allocation(project, gpu_minutes=10_000_000, gpus_at_once=10_000, jobs_submitted=None)
    person = make_member(project, Role.RESEARCHER, username="bench")

    def submit() -> None:
        spec, allocation = services.prepare(RAW, project=project)
        services.submit(project=project, spec=spec, allocation=allocation, by=person)

    return submit
