"""What runs used, as slurmdbd has it: CPU time of all their steps, and the largest task's peak of memory."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from slurm import bulk, text
from slurm.commands import Commands
from slurm.contract import Unanswered, Used
from slurm.tokens import Token

FIELDS = ("JobID", "JobIDRaw", "Submit", "TotalCPU", "MaxRSS")
_CLOCK = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)")
_MB = {"": 1 / 1024, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}


def read(commands: Commands, token: Token, *, since: datetime, job_ids: Collection[int]) -> list[Used]:
    """Of every run of these jobs (an array's number for its tasks) active since then; [] for no jobs."""
    found: list[Used] = []
    ids = sorted(set(job_ids))
    for at in range(0, len(ids), bulk.IDS_A_CALL):
        chunk = ids[at : at + bulk.IDS_A_CALL]
        found += parse(commands.read(token, "sacct", *_asked(since, chunk)))
    return found


def _asked(since: datetime, job_ids: Sequence[int]) -> Iterator[str]:
    yield from ("--allusers", "--duplicates", "--noheader", "--parsable2", f"--delimiter={bulk.SEPARATOR}")
    yield f"--starttime={since.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
    yield f"--endtime={datetime.now(UTC) + timedelta(days=1):%Y-%m-%dT%H:%M:%S}"
    yield f"--format={','.join(FIELDS)}"
    yield f"--jobs={','.join(map(str, job_ids))}"


def parse(printed: str) -> list[Used]:
    """A run's line has no dot in its number; the lines of its steps follow it."""
    found: list[Used] = []
    try:
        for row in bulk.rows(printed, FIELDS):
            if "." not in row["JobID"]:
                found.append(_run(row))
            elif found:
                found[-1] = _with_step(found[-1], row)
    except ValueError as error:
        raise Unanswered(f"an answer that cannot be read: {error}") from None
    return found


def _run(row: dict[str, str]) -> Used:
    array, _, task = row["JobID"].partition("_")
    return Used(
        job_id=int(array) if task else int(row["JobIDRaw"]),
        array_task=int(task) if task.isdecimal() else None,
        submit_time=text.instant(row["Submit"]),
        cpu_seconds=seconds(row["TotalCPU"]),
        peak_memory_mb=None,
    )


def _with_step(run: Used, row: dict[str, str]) -> Used:
    """The run's own CPU time is the sum of its steps' already."""
    peak = megabytes(row["MaxRSS"])
    return run if peak is None else dataclasses.replace(run, peak_memory_mb=max(peak, run.peak_memory_mb or 0.0))


def seconds(clock: str) -> float | None:
    """ "1-02:03:04", "02:03:04" or "03:04.500" in seconds; None where there is no time."""
    match = _CLOCK.fullmatch(clock.strip())
    if not match:
        return None
    days, hours, minutes, rest = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def megabytes(size: str) -> float | None:
    """ "10844K" in MB; None where nothing was measured."""
    match = _SIZE.fullmatch(size.strip())
    return float(match[1]) * _MB[match[2]] if match else None
