"""A request that names a preset or an environment: what they make of it, before it is judged like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from presets import services as presets
from presets.models import Software
from projects.models import Project

Errors = dict[str, list[str]]


def complete(raw: Mapping[str, Any], *, project: Project) -> tuple[dict[str, Any], Errors]:
    """(the whole request, field -> why it cannot be): with the preset's fields, and the environment in its version."""
    whole, errors = dict(raw), Errors()
    if name := whole.get("preset"):
        try:
            whole = presets.apply(presets.find(str(name), project=project), whole)
        except presets.NoPreset as refusal:
            errors["preset"], whole["preset"] = [str(refusal)], ""
        except presets.WrongFields as wrong:
            whole, errors = wrong.raw, errors | wrong.errors
    if isinstance(name := whole.get("software"), str) and name.strip():
        try:
            whole["software"] = presets.software(name).title
        except presets.NoSoftware as refusal:
            errors["software"], whole["software"] = [str(refusal)], ""
    return whole, errors


def warnings(software: str) -> list[str]:
    """What to know about the environment a request names: that the site no longer stands for it."""
    name, _sign, version = software.partition("@")
    row = Software.objects.filter(name=name, version=version).exclude(retired_at=None).first() if software else None
    if row is None:
        return []
    said = _("The environment %(name)s is retired: the site no longer stands for it.") % {"name": row.title}
    return [f"{said} {row.retired_why}".strip()]
