"""A preset is made, gets another version, is retired and offered again. No version is ever changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from audit import trail
from audit.actions import Action
from presets import rules as judged
from presets.models import Preset, PresetVersion
from projects.models import Project


class WrongRules(Exception):
    """What the version would say of these fields cannot be: field -> messages."""

    def __init__(self, errors: Mapping[str, list[str]]) -> None:
        super().__init__("; ".join(f"{field}: {' '.join(said)}" for field, said in errors.items()))
        self.errors = dict(errors)


@transaction.atomic
def add(
    *, project: Project | None, code: str, title: str, rules: dict[str, Any], by: User | None, about: str = "",
    is_delivered: bool = False,
) -> PresetVersion:  # fmt: skip
    """A new preset in its first version; of the site where there is no project. Raises WrongRules, ValidationError."""
    row = Preset(project=project, code=code, is_delivered=is_delivered)
    row.full_clean()
    row.save()
    made = _version(row, 1, title, about, rules, by)
    trail.record(
        Action.PRESET_ADDED, by=by, about=row, project=project, preset=made.name, after=_said(made), title=title
    )
    return made


@transaction.atomic
def change(*, preset: Preset, title: str, rules: dict[str, Any], by: User | None, about: str = "") -> PresetVersion:
    """Another version, unless it says what the newest says. Raises WrongRules, ValidationError."""
    row = _lock(preset)
    before = row.versions.first()
    if before is not None and (before.title, before.about, before.rules) == (title, about, rules):
        return before
    made = _version(row, before.number + 1 if before else 1, title, about, rules, by)
    was, now = (_said(before) if before else {}), _said(made)
    names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    trail.record(
        Action.PRESET_CHANGED, by=by, about=row, project=row.project, preset=made.name,
        before={name: was.get(name) for name in names}, after={name: now.get(name) for name in names}, title=title,
    )  # fmt: skip
    return made


@transaction.atomic
def retire(*, preset: Preset, by: User | None, why: str = "") -> Preset:
    """No new request uses it. A second time does nothing."""
    row = _lock(preset)
    if row.retired_at is None:
        row.retired_at = timezone.now()
        row.save(update_fields=["retired_at"])
        trail.record(Action.PRESET_RETIRED, by=by, about=row, project=row.project, preset=row.name, why=why)
    return row


@transaction.atomic
def offer_again(*, preset: Preset, by: User | None) -> Preset:
    """New requests may use it. A second time does nothing."""
    row = _lock(preset)
    if row.retired_at is not None:
        row.retired_at = None
        row.save(update_fields=["retired_at"])
        trail.record(Action.PRESET_OFFERED, by=by, about=row, project=row.project, preset=row.name)
    return row


def _lock(preset: Preset) -> Preset:
    return Preset.objects.select_for_update(of=("self",)).select_related("project").get(pk=preset.pk)


def _version(row: Preset, number: int, title: str, about: str, rules: dict[str, Any], by: User | None) -> PresetVersion:
    if errors := judged.faults(rules):
        raise WrongRules(errors)
    made = PresetVersion(preset=row, number=number, title=title, about=about, rules=rules, by=by)
    made.full_clean(exclude=["rules"])
    made.save()
    return made


def _said(version: PresetVersion) -> dict[str, Any]:
    """What the trail keeps of each field; of the script only its digest."""
    return {
        field: {**rule, "value": _digest(rule["value"])} if field == "script" and rule.get("value") else dict(rule)
        for field, rule in version.rules.items()
    }


def _digest(script: str) -> str:
    return f"sha256:{hashlib.sha256(script.encode()).hexdigest()}"
