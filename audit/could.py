"""Who could see or use what on a date: each room with rows that keep their interval answers for its own.

A room registers a source (AppConfig.ready); the page, the API and the CSV ask all of them. What a role brought with it
is what the table of that day said (RightsTable), not today's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from access.roles import ROLE_GRANTS, SITE_GRANTS
from audit.models import RightsTable


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """At which moment; of whom (a login) or of what ("" is everything)."""

    at: datetime
    person: str = ""
    project: str = ""
    dataset: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Could:
    """One right of one person: `kind` site, project, dataset or token; `code` of what; `until` None: without an end."""

    kind: str
    login: str
    name: str
    code: str
    role: str
    rights: tuple[str, ...]
    since: datetime
    until: datetime | None
    by: str = ""
    why: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Rights:
    """What each role brought with it at a moment."""

    project: dict[str, list[str]]
    site: dict[str, list[str]]

    def of_project(self, role: str) -> tuple[str, ...]:
        """By a role in a project."""
        return tuple(sorted(self.project.get(role, ())))

    def of_site(self, role: str) -> tuple[str, ...]:
        """By a role on the site."""
        return tuple(sorted(self.site.get(role, ())))


Source = Callable[[Asked, Rights], Iterable[Could]]
_sources: dict[str, Source] = {}


def register(name: str, source: Source) -> None:
    """Called once a source, by the app that has the rows."""
    _sources[name] = source


def answer(asked: Asked) -> list[Could]:
    """Everything that was so at that moment, in a fixed order."""
    rights = rights_at(asked.at)
    found = [one for source in _sources.values() for one in source(asked, rights)]
    return sorted(found, key=lambda one: (one.kind != "project", one.kind, one.code, one.login, one.role, one.since))


def rights_at(at: datetime) -> Rights:
    """The table in force then; of before the first that was written down, that first one; without any, today's."""
    rows = list(RightsTable.objects.order_by("at", "pk"))
    row = next((one for one in reversed(rows) if one.at <= at), rows[0] if rows else None)
    return Rights(row.project_roles, row.site_roles) if row else current()


def current() -> Rights:
    """As the code has it."""
    project = {str(role): sorted(map(str, held)) for role, held in ROLE_GRANTS.items()}
    return Rights(project, {str(role): sorted(map(str, held)) for role, held in SITE_GRANTS.items()})


def note() -> bool:
    """Write today's table down where it is another than the last; whether it was. `manage.py setup_roles` calls it."""
    last, now = RightsTable.objects.order_by("-at", "-pk").first(), current()
    if last is not None and (last.project_roles, last.site_roles) == (now.project, now.site):
        return False
    RightsTable.objects.create(project_roles=now.project, site_roles=now.site)
    return True


def spoken(one: Could) -> dict[str, Any]:
    """For JSON and CSV."""
    return dataclasses.asdict(one) | {"rights": list(one.rights)}
