"""Follow a job's output until the job is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from bancada.api import Piece, Portal, Trouble

FAST, SLOW = 0.5, 3.0  # seconds between two looks: while something comes, and while nothing does
TRIES = 40  # so many times SLOW: two minutes
PASSING = frozenset({0, 429, 502, 503, 504})
T = TypeVar("T")
UNDER_WAY = frozenset(
    {"handing", "confirming", "held", "waiting", "requeued", "running", "ending", "suspended", "unknown"}
)


def is_over(job: dict[str, Any]) -> bool:
    """Whether the job's state will not change by itself any more."""
    return job["state"] not in UNDER_WAY


def exit_code(job: dict[str, Any]) -> int:
    """What a shell would have said: the job's own code, 128 + signal, 0 only for a completed job."""
    if job["exit_signal"]:
        return 128 + int(job["exit_signal"])
    return int(job["exit_code"]) if job["exit_code"] else int(job["state"] != "completed")


def wait(portal: Portal, job_id: str) -> dict[str, Any]:
    """Wait for the job's end."""
    while not is_over(job := patiently(partial(portal.job, job_id))):
        time.sleep(SLOW)
    return job


def patiently(ask: Callable[[], T], tries: int = TRIES) -> T:
    """Ask again where the portal or a part of it is away for a while; what it refuses is refused."""
    for attempt in range(1, tries + 1):
        try:
            return ask()
        except Trouble as trouble:
            if trouble.status not in PASSING or attempt == tries:
                raise
            time.sleep(SLOW)
    raise AssertionError


def follow(
    portal: Portal, job_id: str, stream: str, write: Callable[[bytes], Any], tell: Callable[[str], Any],
    task: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Write the output as it grows; give the job, or the `task` of an array, as it ended. `tell` hears what is not
    output."""
    at, told, pause = Mark(), "", FAST
    look = partial(portal.job, job_id) if task is None else partial(portal.task, job_id, task)
    while True:
        job = patiently(look)  # before the output, so that nothing is missed at its end
        piece = patiently(partial(portal.log, job_id, stream, at.offset, at.generation, task))
        if at.begins_anew(piece):
            tell("the job started again: its output begins anew")
            at = Mark(0, piece.generation)
            continue
        if piece.state not in ("open", told):
            told = piece.state
            tell(f"output: {told}")
        write(piece.data)
        at = at.after(piece)
        if is_over(job) and piece.state != "busy" and (at.offset >= piece.size or not piece.data):
            return job
        pause = FAST if piece.data else min(SLOW, pause * 1.5)
        if at.offset >= piece.size:
            time.sleep(pause)


@dataclass(frozen=True)
class Mark:
    """How far the output was read, and of which writing of the file."""

    offset: int = 0
    generation: str = ""

    def begins_anew(self, piece: Piece) -> bool:
        """Whether the answer belongs to another writing of the file."""
        return bool(self.generation) and piece.state == "open" and not piece.data and piece.offset < self.offset

    def after(self, piece: Piece) -> Mark:
        """Where the next bytes are."""
        offset = piece.offset + len(piece.data) if piece.data else self.offset
        return Mark(offset, piece.generation or self.generation)
