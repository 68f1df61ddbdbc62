"""A request that names a preset or an environment: what they make of it, before it is judged like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from jobs import tables
from presets import services as presets
from presets.models import Software
from presets.services import environments
from projects.models import Project

Errors = dict[str, list[str]]


def complete(raw: Mapping[str, Any], *, project: Project) -> tuple[dict[str, Any], Errors]:
    """(the whole request, field -> why it cannot be): with the preset's fields, and the environment in its version."""
    whole, errors = dict(raw), Errors()
    if whole.get("preset"):
        whole, errors = _applied(whole, project)
    if isinstance(name := whole.get("software"), str) and name.strip():
        try:
            whole["software"] = presets.software(name, project=project).title
        except presets.NoSoftware as refusal:
            errors["software"], whole["software"] = [str(refusal)], ""
    return whole, errors


def _applied(raw: dict[str, Any], project: Project) -> tuple[dict[str, Any], Errors]:
    """A preset speaks of a table as text; what was given as rows stays as it was given."""
    rows, errors = raw.get("parameters"), Errors()
    typed = _typed(rows)
    whole = raw | {"parameters": typed}
    try:
        whole = presets.apply(presets.find(str(raw["preset"]), project=project), whole)
    except presets.NoPreset as refusal:
        errors["preset"], whole["preset"] = [str(refusal)], ""
    except presets.WrongFields as wrong:
        whole, errors = wrong.raw, wrong.errors
    text = whole.pop("parameters", "") or ""
    try:
        return whole | {"parameters": rows if text == typed else tables.parameters(text)}, errors
    except tables.Unreadable as why:
        return whole, errors | {"parameters": [str(why)]}


def _typed(rows: Any) -> str:
    """What is no table is left for the checks to refuse."""
    are_rows = isinstance(rows, list | tuple) and all(isinstance(row, Mapping) for row in rows)
    return tables.parameters_text(rows) if are_rows else ""


def warnings(software: str) -> list[str]:
    """What to know about the environment a request names: that the site no longer stands for it."""
    name, _sign, version = software.partition("@")
    if "/" in name:
        own = environments.named(software)
        return [_("The environment %(name)s is retired.") % {"name": own.title}] if own and own.retired_at else []
    row = Software.objects.filter(name=name, version=version).exclude(retired_at=None).first() if software else None
    if row is None:
        return []
    said = _("The environment %(name)s is retired: the site no longer stands for it.") % {"name": row.title}
    return [f"{said} {row.retired_why}".strip()]
