"""Sharing agreements: added, changed, ended; and the checklist of what is owed at the end."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from audit import trail
from audit.actions import Action
from datasets.models import Agreement, Duty, DutyKind, Grant
from datasets.services import asking
from projects.models import Project

CHANGEABLE = ("title", "parties", "document", "document_digest", "ends_on", "purposes", "duties")


class Ended(Exception):
    """The agreement is over already."""


class DutyDone(Exception):
    """Somebody has done this already."""


@transaction.atomic
def add(*, project: Project, by: User | None, **fields: Any) -> Agreement:
    """A new agreement; `fields` are Agreement's own. Raises ValidationError."""
    row = Agreement(project=project, **fields)
    row.full_clean()
    row.save()
    trail.record(
        Action.AGREEMENT_ADDED, by=by, about=row, project=project, digest=row.document_digest,
        starts_on=row.starts_on, ends_on=row.ends_on, purposes=row.purposes,
    )  # fmt: skip
    return row


@transaction.atomic
def change(*, agreement: Agreement, by: User | None, **fields: Any) -> Agreement:
    """Change what may be changed; an earlier end takes permissions with it. Raises Ended, ValidationError."""
    row = _lock(agreement)
    before = {name: getattr(row, name) for name in fields if name in CHANGEABLE}
    after = {name: fields[name] for name in before if fields[name] != before[name]}
    if not after:
        return row
    for name, value in after.items():
        setattr(row, name, value)
    row.full_clean()
    if "ends_on" in after and row.ends_on < timezone.now().date():
        raise ValidationError({"ends_on": _("The last day cannot lie in the past. End the agreement instead.")})
    _shorten(row)
    row.save(update_fields=list(after))
    trail.record(
        Action.AGREEMENT_CHANGED, by=by, about=row, project=row.project,
        before={name: before[name] for name in after}, after=after,
    )  # fmt: skip
    return row


def _shorten(row: Agreement) -> None:
    """No permission outlives it."""
    Grant.objects.filter(dataset__agreement=row, revoked_at=None, ends_on__gt=row.ends_on).update(ends_on=row.ends_on)


def _lock(agreement: Agreement) -> Agreement:
    row = Agreement.objects.select_for_update(of=("self",)).select_related("project").get(pk=agreement.pk)
    if row.ended_at is not None:
        raise Ended(str(row))
    return row


@transaction.atomic
def end(*, agreement: Agreement, by: User | None, why: str = "") -> Agreement:
    """Over: its permissions end, new jobs are refused, and each copy is to be returned or deleted. Raises Ended."""
    row = _lock(agreement)
    grants = Grant.objects.filter(dataset__agreement=row).select_related("dataset", "project", "user")
    _open_checklist(row, list(grants))
    for grant in grants.filter(revoked_at=None, ends_on__gte=timezone.now().date()):
        asking.revoke(grant=grant, by=by, why=_("The sharing agreement has ended."))
    row.ended_at, row.ended_by = timezone.now(), by
    row.save(update_fields=["ended_at", "ended_by"] if by else ["ended_at"])
    trail.record(Action.AGREEMENT_ENDED, by=by, about=row, project=row.project, why=why)
    return row


def _open_checklist(row: Agreement, grants: list[Grant]) -> None:
    """One line for whoever had it, and one for whoever keeps it: the project of each dataset."""
    owed: dict[tuple[Any, ...], dict[str, Any]] = {}
    for dataset in row.datasets.select_related("project"):
        owed[(dataset.pk, dataset.project_id, None)] = {"dataset": dataset, "project": dataset.project, "user": None}
    for grant in grants:
        key = (grant.dataset_id, grant.project_id, grant.user_id)
        owed[key] = {"dataset": grant.dataset, "project": grant.project, "user": grant.user}
    Duty.objects.bulk_create([Duty(agreement=row, **facts) for facts in owed.values()])


@transaction.atomic
def do_duty(*, duty: Duty, kind: str, how: str, by: User) -> Duty:
    """Write down what was done; the last one settles the agreement, which is an event of its own. Raises DutyDone."""
    agreement = Agreement.objects.select_for_update(of=("self",)).select_related("project").get(pk=duty.agreement_id)
    row = Duty.objects.select_related("dataset", "project", "user").get(pk=duty.pk)
    if row.done_at is not None:
        raise DutyDone(str(row))
    row.kind, row.how, row.done_by, row.done_at = DutyKind(kind), how.strip(), by, timezone.now()
    row.full_clean()
    if not row.how:
        raise ValidationError({"how": _("This field is required.")})
    row.save(update_fields=["kind", "how", "done_by", "done_at"])
    facts: dict[str, Any] = {"by": by, "about": agreement, "project": agreement.project}
    trail.record(Action.AGREEMENT_DUTY_DONE, kind=kind, dataset=row.dataset.code, holder=row.holder, how=how, **facts)
    if not agreement.checklist.filter(done_at=None).exists():
        agreement.settled_at = timezone.now()
        agreement.save(update_fields=["settled_at"])
        trail.record(Action.AGREEMENT_SETTLED, duties=agreement.checklist.count(), **facts)
    return row
