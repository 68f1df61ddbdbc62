"""The catalogue of software environments: what the site has validated, and what it no longer stands for."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from audit import trail
from audit.actions import Action
from presets.models import Software

CHANGEABLE = ("about", "modules", "image", "driver", "cuda", "frameworks", "validated_on")


@transaction.atomic
def add_software(*, by: User | None, **fields: Any) -> Software:
    """A new one; `fields` are Software's own. Raises ValidationError."""
    row = Software(by=by, **fields)
    row.full_clean()
    row.save()
    trail.record(Action.SOFTWARE_ADDED, by=by, about=row, software=row.title, line=row.line)
    return row


@transaction.atomic
def change_software(*, software: Software, by: User | None, **fields: Any) -> Software:
    """Correct it, or validate it anew; name and version stay. Raises ValidationError."""
    row = _lock(software)
    before = {name: getattr(row, name) for name in fields if name in CHANGEABLE}
    after = {name: fields[name] for name in before if fields[name] != before[name]}
    if not after:
        return row
    for name, value in after.items():
        setattr(row, name, value)
    row.full_clean()
    row.save(update_fields=list(after))
    trail.record(
        Action.SOFTWARE_CHANGED, by=by, about=row, software=row.title, before={name: before[name] for name in after},
        after=after,
    )  # fmt: skip
    return row


@transaction.atomic
def retire_software(*, software: Software, by: User | None, why: str = "") -> Software:
    """It is no longer offered; a job that names it is warned. A second time does nothing."""
    row = _lock(software)
    if row.retired_at is None:
        row.retired_at, row.retired_why = timezone.now(), why
        row.save(update_fields=["retired_at", "retired_why"])
        trail.record(Action.SOFTWARE_RETIRED, by=by, about=row, software=row.title, why=why)
    return row


@transaction.atomic
def offer_software_again(*, software: Software, by: User | None) -> Software:
    """It is offered again. A second time does nothing."""
    row = _lock(software)
    if row.retired_at is not None:
        row.retired_at, row.retired_why = None, ""
        row.save(update_fields=["retired_at", "retired_why"])
        trail.record(Action.SOFTWARE_OFFERED, by=by, about=row, software=row.title)
    return row


def _lock(software: Software) -> Software:
    return Software.objects.select_for_update().get(pk=software.pk)
