"""How a project stands in Slurm: applied, being applied, not possible, changed there by another hand."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from quotas.models import Enforcement

_WORDS: dict[str, tuple[str, str, str | Promise]] = {
    "applied": ("s-ok", "ok", gettext_lazy("In force in Slurm")),
    "pending": ("s-send", "muted", gettext_lazy("Being made known to Slurm")),
    "observed": ("info", "muted", gettext_lazy("Not told to Slurm: the portal only observes here")),
    "failed": ("s-bad", "bad", gettext_lazy("Slurm could not be told")),
    "differs": ("warn", "warn", gettext_lazy("Changed in Slurm by another hand")),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """One project's; `at` is when it was applied or compared last, `error` what Slurm said, in its own words."""

    state: str
    at: datetime | None
    error: str = ""
    differences: int = 0

    @property
    def icon(self) -> str:
        """Its sign."""
        return _WORDS[self.state][0]

    @property
    def css(self) -> str:
        """Its colour."""
        return _WORDS[self.state][1]

    @property
    def words(self) -> str | Promise:
        """In one phrase."""
        return _WORDS[self.state][2]


def of(project: Any) -> Standing:
    """Of a project read with its `enforcement`."""
    row: Enforcement | None = getattr(project, "enforcement", None)
    if settings.RECONCILE == "observe":
        return Standing("observed", row.checked_at if row else None, differences=len(row.differences) if row else 0)
    if row is None:
        return Standing("pending", None)
    if row.error:
        return Standing("failed", row.checked_at or row.applied_at, row.error)
    if project.change > row.change_applied:
        return Standing("pending", row.applied_at)
    if row.differences:
        return Standing("differs", row.checked_at, differences=len(row.differences))
    return Standing("applied", row.checked_at or row.applied_at)
