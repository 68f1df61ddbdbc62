"""Booking what runs used, by day (UTC) and GPU type, from Slurm's own facts; and what that leaves of allocations."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta

from django.db import connection, transaction

from quotas.models import Usage

_MINUTES_USED = """
UPDATE quotas_allocation AS a SET used_as_of = %s, used_gpu_minutes = round(coalesce((
    SELECT sum(u.gpu_seconds) FROM quotas_usage u
    WHERE u.allocation_id = a.id AND u.day >= a.starts_on AND (a.ends_on IS NULL OR u.day <= a.ends_on)), 0) / 60.0)
WHERE a.id = ANY(%s)"""
_HELD_USED = """
UPDATE quotas_hold AS h SET used_gpu_minutes = round(coalesce((
    SELECT sum(u.gpu_seconds) FROM quotas_usage u WHERE u.job = h.reference), 0) / 60.0)
WHERE h.reference = ANY(%s)"""


@dataclasses.dataclass(frozen=True, slots=True)
class RunFacts:
    """One run of a job as Slurm accounts for it. `gpus` is the total, `gpu_types` {"a100": 2} may be empty."""

    run: str
    job: str
    project_id: int
    allocation_id: int | None
    user_id: int | None
    login: str
    is_outside: bool
    partition: str
    started_at: datetime
    ended_at: datetime | None  # None: under way
    gpus: int
    gpu_types: Mapping[str, int]
    cpus: int


@transaction.atomic
def book(runs: Sequence[RunFacts], *, now: datetime) -> None:
    """Write what these runs used until their end or `now`. Said again, or in another order, it comes to the same."""
    rows = [row for facts in runs for row in _rows(facts, now)]
    days = {(row.run, row.day, row.gpu_type) for row in rows}
    stale = Usage.objects.filter(run__in=[facts.run for facts in runs])
    gone = [pk for pk, *key in stale.values_list("pk", "run", "day", "gpu_type") if tuple(key) not in days]
    Usage.objects.filter(pk__in=gone).delete()
    Usage.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["run", "day", "gpu_type"],
        update_fields=["gpu_seconds", "cpu_seconds", "allocation", "user", "as_of"],
    )  # fmt: skip
    refresh({facts.allocation_id for facts in runs if facts.allocation_id}, now=now)
    with connection.cursor() as cursor:
        cursor.execute(_HELD_USED, [sorted({facts.job for facts in runs})])


def refresh(allocation_ids: Iterable[int], *, now: datetime) -> None:
    """Add up anew what was used of these allocations within their periods."""
    with connection.cursor() as cursor:
        cursor.execute(_MINUTES_USED, [now, sorted(allocation_ids)])


def _rows(facts: RunFacts, now: datetime) -> Iterator[Usage]:
    until = facts.ended_at or now
    types = _types(facts)
    for day, seconds in by_day(facts.started_at, until):
        for number, (gpu_type, gpus) in enumerate(types):
            yield Usage(
                project_id=facts.project_id, allocation_id=facts.allocation_id, user_id=facts.user_id,
                login=facts.login[:150], job=facts.job, run=facts.run, is_outside=facts.is_outside,
                partition=facts.partition, day=day, gpu_type=gpu_type, gpu_seconds=gpus * seconds,
                cpu_seconds=0 if number else facts.cpus * seconds, as_of=now,
            )  # fmt: skip


def _types(facts: RunFacts) -> list[tuple[str, int]]:
    """Typed counts, and what the untyped total has beyond them: the two are never added up."""
    typed = [(name[:40], count) for name, count in sorted(facts.gpu_types.items()) if count > 0]
    rest = facts.gpus - sum(count for _name, count in typed)
    return [*typed, *([("", rest)] if rest > 0 or not typed else [])]


def by_day(start: datetime, end: datetime) -> Iterator[tuple[date, int]]:
    """Whole seconds of [start, end) on each day of UTC; nothing where the end is not after the start."""
    at, done = start.astimezone(UTC), 0
    end = end.astimezone(UTC)
    while at < end:
        midnight = datetime.combine(at.date() + timedelta(days=1), time.min, UTC)
        upto = min(end, midnight)
        seconds = round((upto - start).total_seconds()) - done  # rounding never adds up to more than the whole
        done += seconds
        if seconds > 0:
            yield at.date(), seconds
        at = upto
