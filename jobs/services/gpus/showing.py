"""The GPUs of a job, shown: small pictures from our own rows, charts through the one door to Prometheus.

Prometheus is asked with the number and the nodes of the job's own row, after the gate let its reader in. What others
than the owner read is recorded once per job and hour, as the reading of an output is.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from django.utils import timezone

from accounts.models import User
from audit import trail
from audit.actions import Action
from audit.models import AuditEvent
from cluster.metrics import names
from cluster.metrics.charts import Card, Chart, Where, cards_of, chart
from cluster.models import Gpu
from cluster.models.gpus import EVERY, RECENT
from jobs import gpu_use
from jobs.models import GpuSummary, Job, Run
from jobs.services.gpus.places import held
from jobs.services.gpus.reporting import SUMMARY, Report, report
from slurm.text import hosts

SAME_READING = timedelta(hours=1)
LIVE = 600.0  # seconds a chart of a running job shows at first
SHARED = 0.8  # seconds an answer serves all who watch the same job


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One card as the small picture shows it: % and MiB and W and degrees; None where nothing was read."""

    name: str
    now: float | None  # % now, or the mean of what is over
    memory: float | None
    memory_total: float | None
    power: float | None
    temperature: float | None
    spark: Sequence[int | None]
    idle_seconds: float | None = None
    row: Gpu | None = None
    card: gpu_use.Card | None = None  # once it is over


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """What its page shows: a line a card, and the report once it is over and kept."""

    lines: list[Line]
    report: Report | None = None


def shown(job: Job, *, with_report: bool = False) -> Shown:
    """Of a running job from the picture of the nodes, of one that is over from what was kept of it."""
    if job.started_at is None:
        return Shown([])
    if job.ended_at is None:
        return Shown(_running(job, timezone.now()) if job.gpus or job.allocated_gpus else [])
    kept = SUMMARY.first(job=job.pk)
    return Shown(_kept(kept), report(job, kept) if with_report else None) if kept else Shown([])


def _running(job: Job, now: datetime, run: Run | None = None) -> list[Line]:
    number, nodes = (run.own_id, run.node_list) if run else (job.slurm_job_id, job.node_list)
    names = list(hosts(nodes))
    rows = Gpu.objects.filter(cluster=job.cluster_id, node_name__in=names, slurm_jobs__contains=[number])
    return [_now(row, len(names) > 1, now) for row in rows] if number else []


def _now(row: Gpu, several: bool, now: datetime) -> Line:
    """Of a card that nobody has read for long: its past, and nothing that would be taken for the present."""
    name = f"{row.node_name}:{row.index}" if several else str(row.index)
    missed = max(0, round((now - row.seen_at).total_seconds() / EVERY) - 1)
    spark = [*[None] * (RECENT - len(row.recent)), *row.recent, *[None] * min(missed, RECENT)][-RECENT:]
    if row.is_old:
        return Line(name, None, None, row.memory_total_mib, None, None, spark, None, row)
    idle = row.idle_for
    return Line(
        name, row.utilization, row.memory_mib, row.memory_total_mib, row.power_watts, row.temperature, spark,
        idle.total_seconds() if idle else None, row,
    )  # fmt: skip


def _kept(kept: GpuSummary) -> list[Line]:
    return [
        Line(card.name, row["mean"], row["memory"], row["memory_total"], row["power"], row["temperature"], row["spark"],
             card=card)
        for card, row in zip(kept.use.cards, kept.cards, strict=True)
    ]  # fmt: skip


def charts(
    *, job: Job, by: User, start: float | None = None, last: float = LIVE, points: int = 1000, task: int | None = None
) -> Chart | None:
    """The charts of a job the gate has let `by` see, or of a task of its array.

    From `start` (unix seconds) on, else the `last` seconds of a run and all of what is over. None where it has not
    started. Raises cluster.metrics.prometheus.Away.
    """
    place, ended = held(job, task)
    if place is None:
        return None
    note(job=job, by=by)
    whole = part(place, start, last, is_over=ended is not None)
    cards = _cards_of(place, ended is not None)
    if ended:
        return chart(whole, cards, points=points)
    return _shared(whole.job, whole.nodes, round(whole.start), cards, points, int(time.time() / SHARED))


def part(place: Where, start: float | None, last: float, *, is_over: bool) -> Where:
    """From `start` on, within the run; without it all of what is over, and the `last` seconds of what runs."""
    begin = place.start if is_over else max(place.start, place.end - last)
    return dataclasses.replace(place, start=min(max(place.start, begin if start is None else start), place.end))


def running(job: Job, run: Run) -> list[Line]:
    """The cards of a task that runs, from the picture of the nodes."""
    return _running(job, timezone.now(), run)


def _cards_of(place: Where, is_over: bool) -> tuple[Card, ...]:
    """They do not change while a job runs, so that a chart a second asks for them once a minute."""
    minute = 0 if is_over else int(time.time() / (15 if time.time() - place.start < 120 else 60))
    return _known_cards(place.job, place.nodes, place.start, round(place.end) if is_over else 0, minute)


@lru_cache(maxsize=512)
def _known_cards(job: int, nodes: tuple[str, ...], start: float, end: int, _minute: int) -> tuple[Card, ...]:
    return tuple(cards_of(Where(job, nodes, start, end or time.time())))


@lru_cache(maxsize=256)
def _shared(job: int, nodes: tuple[str, ...], begin: int, cards: tuple[Card, ...], points: int, _moment: int) -> Chart:
    return chart(Where(job, nodes, begin, time.time()), cards, readings=names.CHARTED, points=points)


def note(*, job: Job, by: User) -> None:
    """Record that somebody else than the owner looks, unless that is in the trail within the hour."""
    if job.owner_id == by.pk:
        return
    since = timezone.now() - SAME_READING
    earlier = AuditEvent.objects.about("job", job.pk).filter(actor_id=by.pk, action=Action.METRICS_READ, at__gt=since)
    if not earlier.exists():
        trail.record(Action.METRICS_READ, by=by, about=job, project=job.project, owner=trail.Login(job.owner_login))
