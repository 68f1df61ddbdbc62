"""A GPU in use outside the queue for five minutes: cluster administrators are told, once a use, and it is recorded."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from datetime import datetime, timedelta

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


def totals(since: datetime) -> list[Total]:
    """By person, the most first; a use that began before counts from `since` on."""
    hours: dict[int | None, float] = defaultdict(float)
    nodes: dict[int | None, set[str]] = defaultdict(set)
    for row in OutsideUse.objects.filter(seen_at__gte=since).order_by("began_at"):
        span = (row.ended_at or row.seen_at) - max(row.began_at, since)
        hours[row.uid] += max(span, timedelta(0)).total_seconds() / 3600
        nodes[row.uid].add(row.node_name)
    rows = [Total(uid, spent, tuple(sorted(nodes[uid]))) for uid, spent in hours.items()]
    return sorted(rows, key=lambda total: -total.hours)
