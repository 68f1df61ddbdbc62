"""What a job used of its nodes beside the GPUs, charted: by the number and the nodes of its own row, after the gate."""

from __future__ import annotations

import time
from functools import lru_cache

from accounts.models import User
from cluster.metrics.charts import Chart, Where
from cluster.metrics.hosts import host_chart
from jobs.models import Job
from jobs.services.gpus.places import held
from jobs.services.gpus.showing import LIVE, SHARED, note, part


def charts(
    *, job: Job, by: User, start: float | None = None, last: float = LIVE, points: int = 1000, task: int | None = None
) -> Chart | None:
    """Of a job the gate has let `by` see, or of a task of its array; else as `showing.charts`. Raises Away."""
    place, ended = held(job, task, without_gpus=True)
    if place is None:
        return None
    note(job=job, by=by)
    whole = part(place, start, last, is_over=ended is not None)
    if ended:
        return host_chart(whole, points=points)
    return _shared(whole.job, whole.nodes, round(whole.start), points, int(time.time() / SHARED))


@lru_cache(maxsize=256)
def _shared(job: int, nodes: tuple[str, ...], begin: int, points: int, _moment: int) -> Chart:
    return host_chart(Where(job, nodes, begin, time.time()), points=points)
