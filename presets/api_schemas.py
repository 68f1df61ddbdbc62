"""What presets and environments look like over the API."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from ninja import Schema

from presets.models import Preset, Software


class PresetOut(Schema):
    """The newest version of one. `fields`: what it says of each field, {"mode", "value", "min", "max", "choices"}."""

    name: str
    project: str | None
    title: str
    about: str
    is_delivered: bool
    fields: dict[str, Any]


class PresetList(Schema):
    """Those offered, a project's own before the site's."""

    items: list[PresetOut]


class SoftwareOut(Schema):
    """One environment; `line`: what a script says to use it."""

    name: str
    about: str
    modules: str
    image: str
    line: str
    driver: str
    cuda: str
    frameworks: list[str]
    validated_on: date
    retired_at: datetime | None
    retired_why: str


class SoftwareList(Schema):
    """All of them, by name."""

    items: list[SoftwareOut]


def preset_out(row: Preset) -> dict[str, Any]:
    """`row` comes with its newest version's facts."""
    facts: Any = row
    return {
        "name": f"{row.name}@{facts.number}", "project": row.project.code if row.project else None,
        "title": facts.title, "about": facts.about, "is_delivered": row.is_delivered, "fields": facts.rules,
    }  # fmt: skip


def software_out(row: Software) -> dict[str, Any]:
    """Frameworks a line each."""
    plain = ("about", "modules", "image", "line", "driver", "cuda", "validated_on", "retired_at", "retired_why")
    return {name: getattr(row, name) for name in plain} | {
        "name": row.title,
        "frameworks": row.frameworks.split("\n") if row.frameworks else [],
    }
