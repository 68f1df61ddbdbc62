"""What cluster administrators ask of nodes and windows, and how the worker has Slurm do it: the row is the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from access.bells import ring
from audit import trail
from audit.actions import Action, Outcome
from cluster import slurm_door
from cluster.models import Change, Cluster, Maintenance, Node, NodeChange
from cluster.services import mailing
from slurm.contract import Refused, SlurmError
from slurm.operating import Nodes

log = structlog.get_logger(__name__)
AGAIN = timedelta(seconds=15)
BELL = "slurm.operate"


class NotNow(Exception):
    """It cannot be asked for; says why, for the person."""


@transaction.atomic
def change_node(*, node: Node, change: Change, reason: str, jobs: Sequence[int], by: Any) -> NodeChange:
    """Ask for a node to be drained or resumed; `jobs`: the numbers of those on it, as the asker was shown them."""
    if change == Change.DRAIN and not reason.strip():
        raise NotNow(_("Say why, so that others know."))
    try:
        with transaction.atomic():
            row = NodeChange.objects.create(
                cluster=node.cluster, node_name=node.name, change=change, reason=reason.strip(), asked_by=by
            )
    except IntegrityError:
        raise NotNow(_("Something else was asked of this node and is not done yet.")) from None
    trail.record(
        Action.NODE_CHANGE_ASKED, by=by, about=node.cluster, node=node.name, change=str(change),
        reason=reason.strip(), jobs=list(jobs)[:200],
    )  # fmt: skip
    ring(BELL)
    return row


@transaction.atomic
def plan(*, cluster: Cluster, by: Any, affected: Sequence[Any], **facts: Any) -> Maintenance:
    """A window: kept, told to those it affects, and to Slurm by the worker. Raises NotNow for one that is over."""
    if facts["ends_at"] <= timezone.now():
        raise NotNow(_("The window is over before it begins."))
    window = Maintenance.objects.create(cluster=cluster, asked_by=by, **facts)
    trail.record(
        Action.MAINTENANCE_PLANNED, by=by, about=cluster, name=window.name, starts=window.starts_at.isoformat(),
        ends=window.ends_at.isoformat(), nodes=window.node_names, mailed=len(affected),
    )  # fmt: skip
    people = list(affected)
    transaction.on_commit(lambda: _tell(window, people))
    ring(BELL)
    return window


def _tell(window: Maintenance, people: Sequence[Any]) -> None:
    mailing.send("maintenance", people, window=window)
    Maintenance.objects.filter(pk=window.pk).update(mailed_at=timezone.now())


@transaction.atomic
def cancel(*, window: Maintenance, by: Any) -> None:
    """It will not be; what Slurm has of it goes."""
    if not Maintenance.objects.filter(pk=window.pk, cancelled_at=None).update(
        cancelled_at=timezone.now(), next_try_at=timezone.now()
    ):
        raise NotNow(_("It is cancelled already."))
    trail.record(Action.MAINTENANCE_CANCELLED, by=by, about=window.cluster, name=window.name)
    ring(BELL)


def carry_out(door: Nodes | None = None) -> None:
    """Have Slurm do what waits. What it refuses is over, what it did not hear is tried again."""
    now, nodes = timezone.now(), door
    for change in NodeChange.objects.filter(done_at=None, next_try_at__lte=now).select_related("cluster"):
        nodes = nodes or slurm_door.nodes()
        _settle(change, _act_of(nodes, change), done=lambda row, words: _done(row, words))
    due = Maintenance.objects.filter(next_try_at__lte=now, ends_at__gt=now - timedelta(days=7)).select_related(
        "cluster"
    )
    for window in due:
        if window.in_slurm != window.is_wanted and not (window.words and window.is_wanted):
            nodes = nodes or slurm_door.nodes()
            _settle(window, _act_for(nodes, window), done=_reserved)


def _act_of(nodes: Nodes, row: NodeChange) -> Callable[[], None]:
    if row.change == Change.DRAIN:
        return lambda: nodes.drain(row.node_name, row.reason)
    return lambda: nodes.resume(row.node_name)


def _act_for(nodes: Nodes, row: Maintenance) -> Callable[[], None]:
    if row.is_wanted:
        return lambda: nodes.reserve(row.name, row.node_names, row.starts_at, row.ends_at)
    return lambda: nodes.unreserve(row.name)


def _settle(row: Any, act: Callable[[], None], done: Callable[[Any, str], None]) -> None:
    try:
        act()
    except Refused as no:
        done(row, no.message[:300] or "refused")
    except SlurmError as why:
        type(row).objects.filter(pk=row.pk).update(next_try_at=timezone.now() + AGAIN)
        log.info("not done yet", what=str(row), why=str(why))
    else:
        done(row, "")


@transaction.atomic
def _done(row: NodeChange, words: str) -> None:
    NodeChange.objects.filter(pk=row.pk).update(done_at=timezone.now(), words=words)
    trail.record(
        Action.NODE_CHANGED, about=row.cluster, node=row.node_name, change=row.change, words=words,
        outcome=Outcome.REFUSED if words else Outcome.DONE,
    )  # fmt: skip


@transaction.atomic
def _reserved(row: Maintenance, words: str) -> None:
    is_there = row.is_wanted and not words
    Maintenance.objects.filter(pk=row.pk).update(in_slurm=is_there, words=words)
    trail.record(
        Action.MAINTENANCE_CHANGED, about=row.cluster, name=row.name, words=words,
        change="made" if row.is_wanted else "removed", outcome=Outcome.REFUSED if words else Outcome.DONE,
    )  # fmt: skip


def next_window(windows: Sequence[Maintenance], nodes: Sequence[str], now: datetime) -> Maintenance | None:
    """The first window that keeps work from all of these nodes."""
    ahead = [w for w in windows if w.ends_at > now and (not w.node_names or set(nodes) <= set(w.node_names))]
    return min(ahead, key=lambda window: window.starts_at, default=None)
