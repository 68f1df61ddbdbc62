"""Giving a project its allocation, changing and closing it, and dividing it among members."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from audit import trail
from audit.actions import Action
from projects.models import Membership, Project
from projects.services import lock, touched
from quotas.models import Allocation, FundingSource, Share

LIMITS = (
    "gpus_at_once", "gpu_minutes", "longest_minutes", "jobs_submitted", "jobs_running", "gpus_by_type",
    "gpu_minutes_by_type", "partitions", "deny_on_limit",
)  # fmt: skip
CHANGEABLE = (*LIMITS, "title", "funding", "starts_on", "ends_on")
QOS_LENGTH = 56  # of the 60 our column holds: a number may follow
RAISING = {"gpu_minutes", "gpu_minutes_by_type", "starts_on"}  # what makes it more or less used up


class NotMember(Exception):
    """A share is for somebody who may spend the allocation."""


@transaction.atomic
def create_allocation(*, project: Project, by: User | None, **fields: Any) -> Allocation:
    """A new allocation; `fields` are Allocation's own. The project's first is its default. Raises ValidationError."""
    lock(project)
    has_default = Allocation.objects.filter(project=project, is_default=True).exists()
    allocation = Allocation(project=project, **{"is_default": not has_default} | fields)
    allocation.qos = allocation.qos or qos_name(allocation)
    _check(allocation)
    allocation.save()
    touched(project)
    trail.record(
        Action.ALLOCATION_CREATED, by=by, about=allocation, project=project, qos=allocation.qos,
        starts_on=allocation.starts_on, ends_on=allocation.ends_on, **_limits(allocation),
    )  # fmt: skip
    return allocation


def qos_name(allocation: Allocation) -> str:
    """One QOS per allocation and period, e.g. visao-main-20260101; shorter where that is too long."""
    day = f"{allocation.starts_on:%Y%m%d}"
    name = f"{allocation.project.code}-{allocation.code}-{day}"
    if len(name) > QOS_LENGTH:
        short = hashlib.sha256(name.encode()).hexdigest()[:8]
        name = f"{allocation.project.code[:20]}-{allocation.code[:16]}-{short}-{day}"
    others = Allocation.objects.exclude(pk=allocation.pk)
    tried, number = name, 1
    while others.filter(qos=tried).exists():
        number += 1
        tried = f"{name}-{number}"
    return tried


def _moved(row: Allocation, starts_on: date) -> None:
    """The first day can be another only before it has come: Slurm counts a QOS from then on."""
    if row.starts_on <= timezone.now().date():
        words = _("The period has begun, and Slurm counts from its first day. Close it and give a new allocation.")
        raise ValidationError({"starts_on": words})
    row.starts_on = starts_on
    row.qos = qos_name(row)


@transaction.atomic
def change_allocation(*, allocation: Allocation, by: User | None, why: str = "", **fields: Any) -> Allocation:
    """Change limits, title, funding or period. Lowering below what is used stops new work, never what runs.

    Raises ValidationError.
    """
    row = _locked(allocation)
    before = {name: getattr(row, name) for name in fields if name in CHANGEABLE}
    after = {name: fields[name] for name in before if fields[name] != before[name]}
    if not after:
        return row
    if "starts_on" in after:
        _moved(row, after["starts_on"])
    for name, value in after.items():
        setattr(row, name, value)
    _check(row)
    if after.keys() & RAISING:  # with more to use, 75 percent may be passed a second time
        row.warned_level = row.mailed_level = 0
    row.save(update_fields=[*after, "qos", "warned_level", "mailed_level"])
    touched(row.project)
    trail.record(
        Action.ALLOCATION_CHANGED, by=by, about=row, project=row.project, why=why,
        before=_named({name: before[name] for name in after}), after=_named(after),
    )  # fmt: skip
    return row


@transaction.atomic
def make_default(*, allocation: Allocation, by: User | None) -> Allocation:
    """Jobs that name no allocation spend this one from now on."""
    row = _locked(allocation)
    if not row.is_default:
        Allocation.objects.filter(project=row.project, is_default=True).update(is_default=False)
        row.is_default = True
        row.save(update_fields=["is_default"])
        touched(row.project)
        trail.record(Action.ALLOCATION_CHANGED, by=by, about=row, project=row.project, after={"is_default": True})
    return row


@transaction.atomic
def close_allocation(*, allocation: Allocation, by: User | None, why: str = "") -> Allocation:
    """No new job spends it from now on; what runs goes on. A second time does nothing."""
    row = _locked(allocation)
    if row.closed_at is None:
        row.closed_at = timezone.now()
        row.save(update_fields=["closed_at"])
        touched(row.project)
        trail.record(Action.ALLOCATION_CLOSED, by=by, about=row, project=row.project, why=why)
    return row


@transaction.atomic
def set_share(*, allocation: Allocation, user: User, by: User | None, **limits: Any) -> Share | None:
    """What a member may use of the allocation; all None takes the share away. Raises NotMember, ValidationError."""
    row = _locked(allocation)
    if not Membership.objects.active().filter(project=row.project, user=user).exists():
        raise NotMember(user.username)
    wanted = Share.whole(limits)
    _check_types(wanted, Share.BY_TYPE)
    share = Share.objects.filter(allocation=row, user=user).first() or Share(allocation=row, user=user)
    before = Share.whole(share)
    if before == wanted and share.pk:
        return share
    kept = _store(share, wanted)
    row.is_shared = row.shares.exists()
    row.save(update_fields=["is_shared"])
    touched(row.project)
    trail.record(
        Action.SHARE_CHANGED, by=by, about=user, project=row.project, allocation=row.code, before=before, after=wanted
    )
    return kept


def _store(share: Share, wanted: dict[str, Any]) -> Share | None:
    if all(value in (None, {}) for value in wanted.values()):
        if share.pk:
            share.delete()
        return None
    for name, value in wanted.items():
        setattr(share, name, value)
    share.full_clean()
    share.save()
    return share


@transaction.atomic
def add_funding(*, project: Project, by: User | None, **fields: Any) -> FundingSource:
    """A funding source; `fields` are FundingSource's own. Raises ValidationError."""
    source = FundingSource(project=project, **fields)
    _checked(source)
    source.save()
    trail.record(Action.FUNDING_ADDED, by=by, about=source, project=project, number=source.number)
    return source


@transaction.atomic
def change_funding(*, source: FundingSource, by: User | None, **fields: Any) -> FundingSource:
    """Correct a funding source. Raises ValidationError."""
    row = FundingSource.objects.select_for_update().get(pk=source.pk)
    before = {name: getattr(row, name) for name in fields}
    for name, value in fields.items():
        setattr(row, name, value)
    _checked(row)
    row.save(update_fields=list(fields))
    trail.record(Action.FUNDING_CHANGED, by=by, about=row, project=row.project, before=before, after=fields)
    return row


def _locked(allocation: Allocation) -> Allocation:
    lock(allocation.project)
    return Allocation.objects.select_for_update(of=("self",)).select_related("project").get(pk=allocation.pk)


def _check(row: Allocation) -> None:
    """What the fields cannot say: partitions are the project's, amounts per type are whole and not negative."""
    errors: dict[str, str] = {}
    if set(row.partitions) - set(row.project.partitions):
        errors["partitions"] = _("The project does not have all of these queues.")
    if row.funding is not None and row.funding.project_id != row.project_id:
        errors["funding"] = _("The funding source belongs to another project.")
    errors |= _backwards(row)
    for name in ("gpus_by_type", "gpu_minutes_by_type"):
        if not _amounts(getattr(row, name)):
            errors[name] = _("Give each GPU type a whole number.")
    if errors:
        raise ValidationError(errors)
    row.full_clean()


def _backwards(row: Allocation | FundingSource) -> dict[str, str]:
    if row.starts_on is not None and row.ends_on is not None and row.ends_on < row.starts_on:
        return {"ends_on": _("The last day comes before the first.")}
    return {}


def _checked(source: FundingSource) -> None:
    """Raises ValidationError."""
    if errors := _backwards(source):
        raise ValidationError(errors)
    source.full_clean()


def _check_types(values: Mapping[str, Any], names: Iterable[str]) -> None:
    wrong = {name: _("Give each GPU type a whole number.") for name in names if not _amounts(values[name])}
    if wrong:
        raise ValidationError(wrong)


def _amounts(value: Any) -> bool:
    good = isinstance(value, dict)
    return good and all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in value.values())


def _limits(row: Allocation) -> dict[str, Any]:
    return {name: getattr(row, name) for name in LIMITS}


def _named(values: dict[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, Model) else value for name, value in values.items()}
