"""Asking for an export: what it covers is settled here, so that it can be made again, byte for byte."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection, transaction

from access import bells
from audit import identities, things, trail
from audit.actions import Action
from audit.identities import numbers_of
from audit.models import Checkpoint, Identity
from audit.models.export import OPEN, Export, Form, State
from audit.services.exporting import NothingSealed
from audit.services.searching import Search
from audit.services.wanted import Wanted

AT_ONCE = 20_000  # records in the range up to which an export is streamed to who asks
MOST_OPEN = 5  # of one person
SLACK = timedelta(minutes=10)  # between an event's time and its becoming visible, and between clocks
BELL = "default.make_exports"
_COUNT = "SELECT count(*) FROM (SELECT FROM audit_auditevent e WHERE {} LIMIT {}) AS found"
_SURE = 10_000  # events counted one by one; above it the planner's guess is told


class TooManyOpen(Exception):
    """The person has as many exports under way as one may have; the argument is how many."""


def wanted_of(search: Search, *, project_id: int | None = None, scope: list[dict[str, Any]] | None = None) -> Wanted:
    """A search of the page in numbers; a code or login nobody knows fits nothing. `scope`: a guest auditor's."""
    refs = Identity.objects.filter(kind=identities.ADDRESS, value=search.address).values_list("ref", flat=True)
    return Wanted(
        project_id=project_id,
        projects=sorted(things.numbers("project", search.project)) if search.project else None,
        people=numbers_of(search.who) if search.who else None,
        datasets=[str(one) for one in sorted(things.numbers("dataset", search.dataset))] if search.dataset else None,
        addresses=sorted({str(ref) for ref in refs}) if search.address else None,
        job=search.job, action=search.action, outcome=search.outcome, correlation=search.correlation,
        since=search.since, until=search.until, scope=scope,
    )  # fmt: skip


@transaction.atomic
def ask(
    *,
    form: Form,
    wanted: Wanted,
    by: Any,
    project: Any = None,
    whole: bool,
    checkpoint: Checkpoint | None = None,
    at_once: bool = True,
) -> Export:
    """An export up to a checkpoint (the last one): made by the worker, or, if small and `at_once`, while it is sent.

    Raises NothingSealed, TooManyOpen.
    """
    first, last = covering(wanted, checkpoint)
    small = at_once and form != Form.BUNDLE and last.seq - first <= AT_ONCE
    if not small and Export.objects.filter(asked_by_id=by.pk, state__in=OPEN).count() >= MOST_OPEN:
        raise TooManyOpen(MOST_OPEN)
    row = Export.objects.create(
        form=form, state=State.STREAMED if small else State.WAITING, asked_by_id=by.pk,
        project_id=project and project.pk,
        project_code=project.code if project else "", whole=whole, wanted=wanted.plain(), checkpoint=last, after=first,
        last=last.seq, done=first, language=getattr(by, "language", ""),
        guests=[part["guest"] for part in wanted.scope or []],
    )  # fmt: skip
    trail.record(Action.EXPORT_ASKED, by=by, about=row, project=project, **said(row))
    bells.ring(BELL)
    return row


def said(row: Export) -> dict[str, Any]:
    """What the trail keeps of it; people in the filter are numbers already."""
    return {"form": row.form, "filter": row.wanted, "first": row.after + 1, "last": row.last}


def covering(wanted: Wanted, checkpoint: Checkpoint | None = None) -> tuple[int, Checkpoint]:
    """(record before the first, checkpoint at the end) that surely hold every event of the time asked for."""
    signed = Checkpoint.objects.order_by("seq", "id")
    last = checkpoint or signed.last()
    if last is None:
        raise NothingSealed
    since, until = wanted.times()
    if until and checkpoint is None:
        last = signed.filter(at__gte=until + SLACK).first() or last
    before = signed.filter(at__lt=since - SLACK, seq__lt=last.seq).last() if since else None
    return (before.seq if before else 0), last


def estimate(wanted: Wanted) -> tuple[int, bool]:
    """(how many events fit, whether that is counted): few are counted, of many the planner's guess is told."""
    condition, values = wanted.sql()
    with connection.cursor() as cursor:
        cursor.execute(_COUNT.format(condition, _SURE), values)
        counted = int(cursor.fetchone()[0])
        if counted < _SURE:
            return counted, True
        cursor.execute(f"EXPLAIN (FORMAT json) SELECT FROM audit_auditevent e WHERE {condition}", values)
        plan = cursor.fetchone()[0]
    return max(counted, int(plan[0]["Plan"]["Plan Rows"])), False
