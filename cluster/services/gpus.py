"""Put what Prometheus says of the GPUs into the picture; remember since when one is idle or used outside the queue."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from cluster.metrics.picture import Seen, look
from cluster.models import Cluster, Gpu, OutsideUse
from cluster.models.gpus import EVERY, IDLE, RECENT

SPAN = timedelta(seconds=EVERY)
GONE = timedelta(minutes=3)  # unseen for so long, a use is over, and nobody knows whether a card was idle meanwhile
FIELDS = (
    "model", "state", "utilization", "memory_mib", "memory_total_mib", "power_watts", "power_limit_watts",
    "temperature", "throttled", "faults", "mig", "slurm_jobs", "strangers", "idle_since", "recent", "seen_at",
)  # fmt: skip


def look_at_gpus(cluster: Cluster) -> None:
    """Ask Prometheus and keep what it says. Raises cluster.metrics.prometheus.Away: then the picture grows old."""
    see_gpus(cluster, look())


@transaction.atomic
def see_gpus(cluster: Cluster, seen: Iterable[Seen]) -> None:
    """One row a card of a node that Slurm has; cards of nodes it no longer has go."""
    now, nodes = timezone.now(), set(cluster.nodes.values_list("name", flat=True))
    cluster.gpus.exclude(node_name__in=nodes).delete()
    rows = {(row.node_name, row.index): row for row in cluster.gpus.all()}
    changed, made, cards = [], [], [card for card in seen if card.node in nodes]
    for card in cards:
        row = rows.get((card.node, card.index))
        fields = _fields(card, row, now)
        if row is None:
            made.append(Gpu(cluster=cluster, node_name=card.node, index=card.index, **fields))
        else:
            for name, value in fields.items():
                setattr(row, name, value)
            changed.append(row)
    Gpu.objects.bulk_create(made)
    Gpu.objects.bulk_update(changed, FIELDS, batch_size=500)
    note_outside(cluster, cards, now)


def _fields(card: Seen, row: Gpu | None, now: datetime) -> dict[str, Any]:
    values = card.values
    use = values.get("utilization")
    return {
        "model": card.model, "state": card.state, "utilization": use, "memory_mib": values.get("memory"),
        "memory_total_mib": values.get("memory_total"), "power_watts": values.get("power"),
        "power_limit_watts": values.get("power_limit"), "temperature": values.get("temperature"),
        "throttled": sorted(card.throttled), "faults": sorted(set(card.faults)), "mig": card.mig,
        "slurm_jobs": sorted(card.jobs), "strangers": card.strangers[:50], "seen_at": now,
        "idle_since": _idle_since(card, row, now), "recent": _recent(row, use, now),
    }  # fmt: skip


def _idle_since(card: Seen, row: Gpu | None, now: datetime) -> datetime | None:
    """Since when a card that jobs hold does nothing: begun anew with other jobs, never told of what was not read."""
    use = card.values.get("utilization")
    if use is None or use > IDLE or not card.jobs:
        return None
    if row is None or row.idle_since is None or row.slurm_jobs != sorted(card.jobs) or not goes_on(row.seen_at, now):
        return now
    return row.idle_since


def goes_on(seen: datetime, now: datetime) -> bool:
    """Whether what was seen then goes on: not where nobody looked for long, nor where the clock was put on or back."""
    return timedelta(0) <= now - seen <= GONE


def _recent(row: Gpu | None, use: float | None, now: datetime) -> list[int | None]:
    """The last readings, one every EVERY seconds; holes where nobody looked."""
    kept = list(row.recent) if row else []
    missed = round((now - row.seen_at) / SPAN) - 1 if row else 0
    kept += [None] * min(max(0, missed), RECENT)
    return [*kept, None if use is None else round(use)][-RECENT:]


def note_outside(cluster: Cluster, cards: Iterable[Seen], now: datetime) -> None:
    """One row for each person and card outside the queue, kept up while it lasts."""
    rows = {(r.node_name, r.index, r.uid): r for r in OutsideUse.objects.filter(cluster=cluster, ended_at=None)}
    used: dict[tuple[str, int, int | None], float] = {}
    for card in cards:
        for one in card.strangers:
            key = (card.node, card.index, one["uid"])
            used[key] = used.get(key, 0) + one["mib"]
    for key, row in list(rows.items()):
        if not goes_on(row.seen_at, now):
            row.ended_at = row.seen_at
            row.save(update_fields=["ended_at"])
            del rows[key]
    for key, mib in used.items():
        row = rows.get(key) or OutsideUse(
            cluster=cluster, node_name=key[0], index=key[1], uid=key[2], began_at=now, seen_at=now
        )
        row.most_mib, row.seen_at = max(row.most_mib, mib), now
        row.save()
