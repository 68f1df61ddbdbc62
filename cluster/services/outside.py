"""A GPU in use outside the queue for five minutes: cluster administrators are told, once a use, and it is recorded."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from audit import trail
from audit.actions import Action
from cluster.models import NOTICE_AFTER, OutsideUse
from cluster.services import mailing


def tell() -> int:
    """Record and tell of every use that goes on so long and was not told of; how many."""
    late = timezone.now() - NOTICE_AFTER
    rows = OutsideUse.objects.filter(ended_at=None, told_at=None, began_at__lte=late).select_related("cluster")
    told = [row for row in rows if row.seen_at - row.began_at >= NOTICE_AFTER and _record(row)]
    if told:
        mailing.send("outside", mailing.operators(), rows=told)
    return len(told)


@transaction.atomic
def _record(row: OutsideUse) -> bool:
    if not OutsideUse.objects.filter(pk=row.pk, told_at=None).update(told_at=timezone.now()):
        return False
    trail.record(
        Action.GPU_OUTSIDE, about=row.cluster, node=row.node_name, gpu=row.index, uid=row.uid,
        memory_mib=round(row.most_mib), since=row.began_at.isoformat(timespec="seconds"),
    )  # fmt: skip
    return True


@dataclasses.dataclass(frozen=True, slots=True)
class Total:
    """What one user number used outside the queue in a time: GPU-hours, on which nodes."""

    uid: int | None
    hours: float
    nodes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Totals:
    """By person, the most first, and GPU-hours in all: what several used of one GPU at once is one GPU's there."""

    people: tuple[Total, ...]
    hours: float


Span = tuple[datetime, datetime]


def is_measured() -> bool:
    """Whether anybody would see it: our own agents do, other exporters know no processes."""
    return bool(settings.PROMETHEUS_URL) and settings.METRICS_NAMES == "bancada"


def totals(since: datetime, until: datetime | None = None) -> Totals:
    """Of [since, until), now without `until`; a use that began before counts from `since` on."""
    until = min(until or timezone.now(), timezone.now())
    people: dict[int | None, dict[tuple[str, int], list[Span]]] = defaultdict(lambda: defaultdict(list))
    for row in OutsideUse.objects.filter(seen_at__gte=since, began_at__lt=until):
        span = max(row.began_at, since), min(row.ended_at or row.seen_at, until)
        people[row.uid][row.node_name, row.index].append(span)
    rows = [
        Total(uid, sum(map(hours, cards.values())), tuple(sorted({node for node, _index in cards})))
        for uid, cards in people.items()
    ]
    every: dict[tuple[str, int], list[Span]] = defaultdict(list)
    for cards in people.values():
        for card, spans in cards.items():
            every[card] += spans
    return Totals(tuple(sorted(rows, key=lambda total: -total.hours)), sum(map(hours, every.values())))


def hours(spans: Iterable[Span]) -> float:
    """Covered by any of these: what overlaps counts once, what ends before it begins (a clock was put back) never."""
    covered, reached = timedelta(0), None
    for begin, end in sorted(spans):
        begin = begin if reached is None else max(begin, reached)
        if end > begin:
            covered, reached = covered + (end - begin), end
    return covered.total_seconds() / 3600
