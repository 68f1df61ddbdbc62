"""The GPUs of a node as boxes: free or whose, within what one may see; hot, failing, or used past the queue."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable
from typing import Any

from cluster.models import Gpu, Node
from jobs.models import Job
from slurm.text import hosts

FREE, MINE, SEEN, BUSY, OUT, OUTSIDE = "free", "mine", "seen", "busy", "off", "outside"


@dataclasses.dataclass(frozen=True, slots=True)
class Box:
    """One GPU: `kind` is who has it; `job` only where its reader may see it; `row` None where nobody measures it."""

    index: int
    kind: str
    row: Gpu | None
    job: Job | None = None

    @property
    def is_failing(self) -> bool:
        """It needs somebody."""
        return self.row is not None and self.row.is_failing

    @property
    def is_hot(self) -> bool:
        """It is too warm or held down."""
        return self.row is not None and (self.row.is_hot or bool({"power", "hardware"} & set(self.row.throttled)))


def of_node(node: Node, gpus: Iterable[Gpu], jobs: Collection[Job], visible: Collection[Any], person: int) -> list[Box]:
    """A box for each of its GPUs. Where nodes are measured the jobs of each are known; else only how many are taken."""
    rows = {row.index: row for row in gpus}
    on_it = {job.slurm_job_id: job for job in jobs if node.name in hosts(job.node_list)}
    if any(row.slurm_jobs for row in rows.values()) or not node.gpus_allocated:
        return [_measured(node, index, rows.get(index), on_it, visible, person) for index in range(node.gpus)]
    return list(_counted(node, rows, on_it.values(), visible, person))


def _measured(
    node: Node, index: int, row: Gpu | None, on_it: dict[Any, Job], visible: Collection[Any], person: int
) -> Box:
    job = next((on_it[number] for number in (row.slurm_jobs if row else ()) if number in on_it), None)
    if job is not None and job.pk in visible:
        return Box(index, MINE if job.owner_id == person else SEEN, row, job)
    if row is not None and row.slurm_jobs:
        return Box(index, BUSY, row)
    return Box(index, _without_job(node, row), row)


def _without_job(node: Node, row: Gpu | None) -> str:
    """In use outside the queue is never free."""
    if row is not None and row.is_outside:
        return OUTSIDE
    return OUT if node.out_of_service or (row is not None and row.state != "ok") else FREE


def _counted(
    node: Node, rows: dict[int, Gpu], jobs: Iterable[Job], visible: Collection[Any], person: int
) -> Iterable[Box]:
    """Nobody measures: the person's own first, then what they may see, then others', then what is left."""
    seen = [job for job in jobs if job.pk in visible for _ in range(job.gpus)]
    seen.sort(key=lambda job: job.owner_id != person)
    for index in range(node.gpus):
        row = rows.get(index)
        if index < len(seen):
            yield Box(index, MINE if seen[index].owner_id == person else SEEN, row, seen[index])
        elif index < node.gpus_allocated:
            yield Box(index, BUSY, row)
        else:
            yield Box(index, _without_job(node, row), row)
