"""Jobs whose output is measured: they write as told for as long as they are let, on a node of the stack, by Slurm."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.place import PROJECT, RESEARCHERS, Place, request, submit, until

STAMPS = """#!/bin/bash
exec /usr/bin/python3 -u -c '
import time
while True:
    print("%020d step" % time.monotonic_ns() + " loss 0.1234" * {words}, flush=True)
    time.sleep({gap})
'
"""
BLOCK = b"x" * 119 + b"\n"
FLAT_OUT = """#!/bin/bash
echo ready
while [ ! -e {gate} ]; do sleep 0.1; done
exec /usr/bin/python3 -c '
import sys
for _ in range({blocks}):
    sys.stdout.buffer.write((b"x" * 119 + b"\\n") * 8192)
'
"""


class Output:
    """A running job and its output file, as seen from outside."""

    def __init__(self, place: Place, job: str) -> None:
        self.place, self.job = place, job
        paths = "SELECT stdout_path, slurm_job_id FROM jobs_handover WHERE job_id = %s AND outcome = 'accepted'"
        stored, self.number = place.rows(paths, job)[0]
        self.path = Path(str(stored).replace("/srv/var", str(place.var), 1))

    def end(self) -> None:
        """Cancelled, if it still runs; then nothing more is written."""
        self.place.inside_as("root", "scancel", "--quiet", str(self.number))
        over = "SELECT phase NOT IN ('requested', 'handing', 'confirming', 'accepted') FROM jobs_job WHERE id = %s"
        until(lambda: self.place.one(over, self.job), seconds=90, what="the job is over")


@contextlib.contextmanager
def running(place: Place, script: str) -> Iterator[Output]:
    """The job of this script, running, with output; over afterwards."""
    job = submit(place.api(RESEARCHERS[0]), request(f"bench-{os.getpid()}-output", script))
    row = "SELECT 1 FROM jobs_job WHERE id = %s AND state = 'running'"
    until(lambda: place.rows(row, job), seconds=120, what="the job runs")
    output = Output(place, job)
    try:
        until(lambda: output.path.exists() and output.path.stat().st_size, seconds=60, what="it writes")
        yield output
    finally:
        output.end()


def stamped(place: Place, gap: float, words: int = 8) -> contextlib.AbstractContextManager[Output]:
    """A line every `gap` seconds that says when it was written."""
    return running(place, STAMPS.format(gap=gap, words=words))


@contextlib.contextmanager
def flat_out(place: Place, megabytes: int) -> Iterator[tuple[Output, Path]]:
    """So many MB as fast as it goes, once the file it waits for is made (the second value)."""
    gate = Path(f"/srv/var/projects/{PROJECT}/gate-{os.getpid()}-{time.time_ns()}")
    outside = place.var / gate.relative_to("/srv/var")
    blocks = megabytes * 1_000_000 // (len(BLOCK) * 8192) + 1
    with running(place, FLAT_OUT.format(gate=gate, blocks=blocks)) as output:
        try:
            yield output, outside
        finally:
            outside.unlink(missing_ok=True)
