"""Whether a project works all the way, as four ticks: login, files, allocation, queue; with the cure of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

NAMES: dict[str, str | Promise] = {
    "login": pgettext_lazy("tick", "login"),
    "files": pgettext_lazy("tick", "files"),
    "allocation": pgettext_lazy("tick", "allocation"),
    "queue": pgettext_lazy("tick", "queue"),
}
_ABSENT: dict[str, str | Promise] = {
    "login": gettext_lazy("The cluster does not know these logins: %(logins)s."),
    "files": gettext_lazy("Group or folder of the project are not there."),
    "allocation": gettext_lazy("The project has no allocation now. A cluster administrator gives it one."),
    "queue": gettext_lazy("Slurm does not know all of the project yet."),
}
_STATES: dict[str, tuple[str, str, str | Promise]] = {
    "ok": ("s-ok", "ok", gettext_lazy("verified")),
    "absent": ("s-bad", "bad", gettext_lazy("absent")),
    "checking": ("s-ask", "muted", gettext_lazy("being checked")),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Tick:
    """One of the four; `state` is ok, absent or checking."""

    name: str | Promise
    state: str
    words: str = ""
    command: str = ""
    missing: tuple[str, ...] = ()

    @property
    def icon(self) -> str:
        """Its sign."""
        return _STATES[self.state][0]

    @property
    def css(self) -> str:
        """Its colour."""
        return _STATES[self.state][1]

    @property
    def label(self) -> str | Promise:
        """Its sign in words."""
        return _STATES[self.state][2]

    @property
    def said(self) -> str:
        """Which one and how it stands, in words."""
        return f"{self.name}: {self.label}"

    @property
    def is_absent(self) -> bool:
        """Whether somebody has to do something."""
        return self.state == "absent"


def of(seen: Mapping[str, Any] | None) -> list[Tick]:
    """The four ticks of what was seen last (quotas.models.Enforcement.ticks); nothing seen: being checked."""
    return [_tick(key, name, (seen or {}).get(key)) for key, name in NAMES.items()]


def _tick(key: str, name: str | Promise, seen: Mapping[str, Any] | None) -> Tick:
    if seen is None:
        return Tick(name, "checking")
    if seen.get("ok"):
        return Tick(name, "ok")
    missing = tuple(map(str, seen.get("missing") or ()))
    words = gettext(seen["words"]) if seen.get("words") else str(_ABSENT[key])
    said = words.replace("%(logins)s", ", ".join(missing))
    return Tick(name, "absent", said, str(seen.get("command") or ""), missing)
