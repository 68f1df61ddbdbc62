"""A preset named by a request: which version that is, and the request it makes of what was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from presets import rules
from presets.models import Environment, Preset, PresetVersion, Software
from presets.services import environments
from projects.models import Project


class NoPreset(Exception):
    """There is no such preset for this project, or it is retired; says which."""


class NoSoftware(Exception):
    """Neither the site nor the project has such an environment; says which."""


class WrongFields(Exception):
    """What was given is not what the preset allows: field -> messages, in the asker's language.

    `raw`: the whole request all the same, so that what else is wrong with it can be said too.
    """

    def __init__(self, errors: Mapping[str, list[str]], raw: Mapping[str, Any]) -> None:
        super().__init__("; ".join(f"{field}: {' '.join(said)}" for field, said in errors.items()))
        self.errors, self.raw = dict(errors), dict(raw)


def find(name: str, *, project: Project) -> PresetVersion:
    """By "single-gpu" (its newest version), "single-gpu@3" or "project/name@3". Raises NoPreset.

    That of another project is one that is not there.
    """
    whole, _sign, number = name.strip().partition("@")
    owner, slash, code = whole.rpartition("/")
    rows = PresetVersion.objects.select_related("preset__project").filter(preset__code=code)
    rows = rows.filter(preset__project=project) if slash else rows.filter(preset__project=None)
    wanted = not slash or owner == project.code
    if number:
        rows = (
            rows.filter(number=int(number))
            if number.isascii() and number.isdigit() and len(number) < 9
            else rows.none()
        )
    found = rows.order_by("-number").first() if wanted and "\x00" not in name else None
    if found is None:
        raise NoPreset(_("There is no preset “%(name)s” for this project.") % {"name": name[:80]})
    if found.preset.retired_at:
        raise NoPreset(
            _("The preset “%(name)s” is retired. Take another, or send the script itself.") % {"name": name[:80]}
        )
    return found


def apply(version: PresetVersion, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the request, with the preset's name and version. Raises WrongFields with all that are wrong."""
    raw, errors = rules.settle(version.rules, given)
    raw["preset"] = version.name
    if errors:
        raise WrongFields(errors, raw)
    return raw


def offered(project: Project) -> list[Preset]:
    """The project's own first, then the site's; each with its newest version's title and number."""
    return ordered(Preset.objects.offered_to(project).with_newest().select_related("project"))


def ordered(rows: Iterable[Preset]) -> list[Preset]:
    """A project's before the site's, what people made before what was delivered."""
    return sorted(rows, key=lambda row: (row.project_id is None, not row.is_delivered, row.created_at))


def software(name: str, *, project: Project) -> Software | Environment:
    """By "pytorch" (the newest that is not retired), "pytorch@2.5", or "project/name@2". Raises NoSoftware.

    A plain name is the site's where the site has one; else the project's own.
    """
    code, sign, version = name.strip().partition("@")
    rows = Software.objects.filter(name=code)
    rows = rows.filter(version=version) if sign else rows.filter(retired_at=None).order_by("-created_at")
    found = (rows.first() if "\x00" not in name else None) or environments.of_project(project, name)
    if found is None:
        raise NoSoftware(
            _("Neither the site nor the project has an environment “%(name)s” that is ready.") % {"name": name[:80]}
        )
    return found
