"""What Slurm is told, or holds instead, in plain words: each step or difference as a sentence with what changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

LIMITS: dict[str, str | Promise] = {
    "gpus_at_once": gettext_lazy("GPUs at once"),
    "gpu_minutes": gettext_lazy("GPU-hours"),
    "longest_minutes": gettext_lazy("longest run"),
    "jobs_submitted": gettext_lazy("jobs queued and running"),
    "jobs_running": gettext_lazy("jobs running"),
    "gpus_by_type": gettext_lazy("GPUs at once, by type"),
    "gpu_minutes_by_type": gettext_lazy("GPU-hours, by type"),
    "partitions": gettext_lazy("queues"),
    "deny_on_limit": gettext_lazy("refuse at once what can never start"),
    "no_decay": gettext_lazy("hours used stay counted"),
    "qos": gettext_lazy("may spend"),
    "default_qos": gettext_lazy("spends where none is named"),
    "missing": gettext_lazy("not there"),
}
HOURS = ("gpu_minutes", "gpu_minutes_by_type")


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One field: its name, and before and after in words."""

    name: str
    before: str
    after: str


@dataclasses.dataclass(frozen=True, slots=True)
class Sentence:
    """One thing that is done, on `queues` ("" where it is not about any); `stops`: somebody or something is shut."""

    text: str
    queues: str
    lines: Sequence[Line]
    stops: bool


def steps(lines: Iterable[Mapping[str, Any]], titles: Mapping[str, str]) -> list[Sentence]:
    """Steps (seen.step_line) in their order; what happens alike on several queues is said once.

    `titles`: the allocation behind each QOS.
    """
    told: dict[tuple[str, tuple[Line, ...], bool], list[str]] = {}
    for line in lines:
        changes = tuple(_line(name, before, after, titles, line) for name, before, after in line["changes"])
        if line["kind"].startswith("add_"):
            changes = tuple(dataclasses.replace(one, before="") for one in changes)
        queues = told.setdefault((_step(line, titles), changes, line["removes"]), [])
        queues += [line["partition"]] if line["partition"] else []
    return [Sentence(text, _queues(queues), changes, stops) for (text, changes, stops), queues in told.items()]


def _queues(names: Sequence[str]) -> str:
    if not names:
        return ""
    return ngettext("on the queue %(names)s", "on the queues %(names)s", len(names)) % {"names": ", ".join(names)}


def _step(line: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    what = {"title": titles.get(line["qos"], line["qos"]), "login": line["user"]}
    match line["kind"]:
        case "add_qos":
            return _("The allocation “%(title)s” becomes known to Slurm.") % what
        case "change_qos" if line["removes"]:
            return _("The allocation “%(title)s” takes no new jobs any more.") % what
        case "change_qos":
            return _("The limits of the allocation “%(title)s” change.") % what
        case "add_account":
            return _("The project becomes known to Slurm.")
        case "change_account":
            return _("The limits of the project as a whole change.")
        case "add_user":
            return _("%(login)s may submit jobs for the project.") % what
        case "stop_user":
            return _("%(login)s may submit no new jobs for the project.") % what
    return _("What %(login)s may use changes.") % what


def differences(lines: Iterable[Mapping[str, Any]], titles: Mapping[str, str]) -> list[Sentence]:
    """Lines of Enforcement.differences: `before` is what the portal wants, `after` what Slurm has."""
    found: dict[tuple[str, tuple[Line, ...]], list[str]] = {}
    for line in lines:
        one = _difference(line, titles)
        queues = found.setdefault((_subject(line, titles), (one,)), [])
        queues += [line["partition"]] if line["partition"] else []
    return [Sentence(text, _queues(queues), changes, False) for (text, changes), queues in found.items()]


def _difference(line: Mapping[str, Any], titles: Mapping[str, str]) -> Line:
    if line["field"] == "missing":
        return Line("", _("there"), _("not there"))
    return _line(line["field"], line["wanted"], line["there"], titles, line)


def _subject(line: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    if line["user"]:
        return str(line["user"])
    title = titles.get(line["qos"], line["qos"])
    return _("Allocation “%(title)s”") % {"title": title} if line["qos"] else _("The project as a whole")


def _line(field: str, before: Any, after: Any, titles: Mapping[str, str], subject: Mapping[str, Any]) -> Line:
    name = LIMITS.get(field, field)
    if field == "gpu_minutes" and subject["user"]:  # Slurm counts a person's hours without an end
        name = _("GPU-hours since the first day in the project")
    return Line(str(name), _value(field, before, titles), _value(field, after, titles))


def _value(field: str, value: Any, titles: Mapping[str, str]) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if field in ("qos", "default_qos"):
        names = value if isinstance(value, list | tuple) else [value] if value else []
        return ", ".join(titles.get(name, name) for name in names) or _("nothing")
    if value is None or value in ("", {}):
        return _("no limit")
    if isinstance(value, Mapping):
        return ", ".join(f"{kind.upper()} {_amount(field, one)}" for kind, one in sorted(value.items()))
    return _amount(field, value)


def amount(field: str, value: Any) -> str:
    """A limit's value as people read it; None is no limit."""
    return _("no limit") if value is None else _amount(field, value)


def _amount(field: str, value: Any) -> str:
    if field in HOURS:
        hours = value / 60
        return number_format(hours, 1 if hours % 1 else 0)
    if field == "longest_minutes":
        return f"{value // 60} h" + (f" {value % 60} min" if value % 60 else "")
    return number_format(value, 0) if isinstance(value, int) else str(value)


def cell(name: str, value: Any) -> Any:
    """An amount for a table: minutes as hours; by type `a100=10; h100=5`; names of queues."""
    if isinstance(value, dict):
        return "; ".join(f"{kind}={cell(name, one)}" for kind, one in sorted(value.items()))
    if isinstance(value, list):
        return "; ".join(value)
    return round(value / 60, 2) if isinstance(value, int) and "minutes" in name else value
