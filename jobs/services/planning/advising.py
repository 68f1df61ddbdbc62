"""What to know before a request is sent: whether data and quota let it in, when it would start, what starts sooner."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django.db import transaction

from accounts.models import User
from cluster.models import Maintenance
from cluster.services import operating
from datasets.services import NotPermitted
from jobs.advice import round_up
from jobs.services import data, touched
from jobs.services.asking import FIELD_OF_LIMIT
from jobs.services.planning import output, picture
from jobs.services.planning.rooms import Demand
from jobs.services.starting import warnings
from jobs.specs import JobSpec
from projects.models import Project
from quotas.models import Allocation
from quotas.services import OverAllocation
from quotas.services.limits import Wish, check

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text

NEXT = 60.0  # seconds that count as now
SOONER = 120.0  # seconds below which a change is not worth it


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """The smallest change of one field that starts sooner: its value, and when."""

    field: str
    value: int
    starts_at: datetime
    is_now: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """`refusals`: (field, why) of what would be refused now. `starts_at` is an estimate; None: none can be made."""

    refusals: Sequence[tuple[str, str]]
    warnings: Sequence[Text]
    starts_at: datetime | None
    is_now: bool
    ahead: int  # jobs that wait in the partition
    sooner: Sequence[Change]
    window: Maintenance | None = None
    window_minutes: int | None = None  # with at most this limit it starts before the window
    seen_at: datetime | None = None


def advise(*, spec: JobSpec, allocation: Allocation, project: Project, by: User) -> Advice:
    """Of a request whose fields are all well. Nothing is written, and Slurm is not asked."""
    seen = picture.look()
    demand = _demand(seen, spec, allocation)
    start = seen.start(demand)
    window, minutes = _window(seen, spec, demand)
    return Advice(
        list(_refusals(spec, allocation, project, by)),
        [*warnings(spec.options.software), *output.warnings(spec, project=project, by=by)], _moment(start),
        start is not None and start <= seen.now + NEXT, seen.ahead.get(spec.partition, 0),
        list(_sooner(seen, spec, allocation, start)), window, minutes, seen.seen_at,
    )  # fmt: skip


def _refusals(spec: JobSpec, allocation: Allocation, project: Project, by: User) -> Iterator[tuple[str, str]]:
    wish = Wish(spec.total_gpus, spec.time_limit_minutes, gpu_type=spec.gpu_type, partition=spec.partition, user=by,
                tasks=spec.options.tasks)  # fmt: skip
    try:
        check(allocation, wish)
    except OverAllocation as over:
        yield FIELD_OF_LIMIT[over.limit], str(over)
    try:
        with transaction.atomic():
            data.permitted(spec, project=project, by=by)
    except NotPermitted as refused:
        for why in refused.reasons:
            yield "datasets", why


def _demand(seen: picture.Picture, spec: JobSpec, allocation: Allocation) -> Demand:
    earliest = seen.now
    if spec.options.begin:
        earliest = max(earliest, datetime.fromisoformat(spec.options.begin).timestamp())
    earliest = max(earliest, _below_limit(seen, spec, allocation))
    return Demand(
        seen.places.get(spec.partition, frozenset()), spec.nodes, (spec.cpus, spec.memory_mb, spec.gpus),
        60.0 * spec.time_limit_minutes, spec.gpu_type, earliest,
    )  # fmt: skip


def _below_limit(seen: picture.Picture, spec: JobSpec, allocation: Allocation) -> float:
    """When enough of the allocation's own jobs have ended for its limit of GPUs at once."""
    if allocation.gpus_at_once is None or not spec.total_gpus:
        return seen.now
    ends = sorted(seen.running.get(allocation.pk, ()))
    used = sum(gpus for _end, gpus in ends)
    moment = seen.now
    for end, gpus in ends:
        if used + spec.total_gpus <= allocation.gpus_at_once:
            break
        moment, used = end, used - gpus
    return moment


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _sooner(seen: picture.Picture, spec: JobSpec, allocation: Allocation, start: float | None) -> Iterator[Change]:
    """For each amount the smallest change that helps."""
    if start is not None and start <= seen.now + NEXT:
        return
    for field, values in _smaller(spec):
        for value in values:
            other = dataclasses.replace(spec, **{field: value})  # type: ignore[arg-type]
            found = seen.start(_demand(seen, other, allocation))
            if found is not None and (start is None or found <= start - SOONER):
                yield Change(field, value, datetime.fromtimestamp(found, UTC), found <= seen.now + NEXT)
                break


def _smaller(spec: JobSpec) -> Iterator[tuple[str, list[int]]]:
    if spec.gpus > 1 and not spec.options.gpus_per_task:
        yield "gpus", list(range(spec.gpus - 1, 0, -1))
    if spec.nodes > 1:
        yield "nodes", list(range(spec.nodes - 1, 0, -1))[:16]
    if spec.cpus > 1 and not spec.options.tasks_per_node:
        yield "cpus", [value for value in (spec.cpus // 2, spec.cpus // 4) if value]
    halves = [round_up(spec.time_limit_minutes / part) for part in (1.5, 2, 4, 8)]
    yield "time_limit_minutes", [value for value in dict.fromkeys(halves) if value < spec.time_limit_minutes]


def _window(seen: picture.Picture, spec: JobSpec, demand: Demand) -> tuple[Maintenance | None, int | None]:
    """The maintenance that keeps it waiting, and the longest limit with which it starts before."""
    now = datetime.fromtimestamp(seen.now, UTC)
    window = operating.next_window(seen.windows, sorted(demand.places), now)
    if window is None or touched.fits(window, spec.time_limit_minutes, now):
        return None, None
    shortest = seen.start(dataclasses.replace(demand, seconds=60.0))
    left = window.starts_at.timestamp() - shortest if shortest is not None else 0
    return window, int(left // 60) if left >= 60 else None
