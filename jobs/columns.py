"""The columns of the list of jobs: which there are, and which a view shows."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

# in the order of the table; the job itself always stands first
COLUMNS: dict[str, str | Promise] = {
    "state": _("State"),
    "project": _("Project"),
    "person": _("Login"),
    "resources": _("Resources"),
    "partition": _("Partition"),
    "preset": _("Preset"),
    "note": _("Note"),
    "nodes": _("Nodes used"),
    "exit": _("Exit code"),
    "limit": _("Time limit"),
    "duration": _("Duration"),
    "asked": _("Asked for"),
    "started": _("Started"),
    "ended": _("Ended"),
}
USUAL = ("state", "project", "resources", "duration", "asked")
NUMBERS = ("exit", "limit", "duration", "asked", "started", "ended")


def chosen(asked: Iterable[str]) -> list[str]:
    """Those of an address that are columns, in the table's order; the usual ones where there are none."""
    wanted = set(asked)
    return [name for name in COLUMNS if name in wanted] or list(USUAL)


def heads(names: Iterable[str]) -> list[tuple[str | Promise, bool]]:
    """(label, whether it stands to the right)."""
    return [(COLUMNS[name], name in NUMBERS) for name in names]


def boxes(names: Iterable[str]) -> list[tuple[str, str | Promise, bool]]:
    """(name, label, whether it is shown) of all."""
    shown = set(names)
    return [(name, label, name in shown) for name, label in COLUMNS.items()]
