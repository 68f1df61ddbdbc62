"""The request form filled in beforehand: what was measured, how long it lasts, and how much would do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _

from quotas.models import Kind
from quotas.panels import Panel, TypeLine
from quotas.services import Balance

ROUND = 10  # GPU-hours a suggestion is rounded up to
LONGER = timedelta(days=180)


def initial(lines: Sequence[Panel], code: str, kind: str) -> dict[str, Any]:
    """Values of the form for this allocation (else the default one) and kind; of a project without one, a new one."""
    line = chosen(lines, code)
    if line is None or kind == Kind.NEW:
        today = timezone.now().date()
        return {"kind": Kind.NEW, "starts_on": today, "ends_on": today + timedelta(days=364)}
    row = line.allocation
    values: dict[str, Any] = {
        "kind": kind if kind in Kind.values else Kind.MORE, "allocation": row, "funding": row.funding,
        "why": measured(line) + "\n\n",
    }  # fmt: skip
    if kind == Kind.LONGER:
        return values | {"ends_on": max(row.ends_on or timezone.now().date(), timezone.now().date()) + LONGER}
    return values | suggestions(line)


def chosen(lines: Sequence[Panel], code: str) -> Panel | None:
    """The allocation a request is about: the one of that code, else the first."""
    return next((one for one in lines if one.allocation.code == code), None) or (lines[0] if lines else None)


def suggestions(line: Panel) -> dict[str, int | None]:
    """GPU-minutes in all and of each type that would not last, under the names of the form's fields."""
    days = _days_left(line)
    found = {"gpu_minutes": suggested(line.balance, line.pace.per_day * days)}
    for one in line.types:
        if one.pace.until or (line.balance.limit is None and one.balance.limit is not None):
            found[f"gpu_minutes_by_type__{one.name}"] = suggested(one.balance, one.pace.per_day * days)
    return found


def _days_left(line: Panel) -> int:
    ends = line.allocation.ends_on
    return max(0, (ends - timezone.now().date()).days) if ends else 0


def suggested(balance: Balance, to_come: float) -> int | None:
    """GPU-minutes that would last to the end at the present pace; a quarter more where that is not more already."""
    limit = balance.limit
    if limit is None:
        return None
    needed = balance.used + to_come
    if needed <= limit:
        needed = limit * 1.25
    return math.ceil(needed / 60 / ROUND) * ROUND * 60


def measured(line: Panel) -> str:
    """What was measured, in the words of whoever asks."""
    row, balance = line.allocation, line.balance
    facts = {
        "title": row.title, "used": _hours(balance.used), "all": _hours(balance.limit), "n": len(line.people),
        "since": date_format(row.starts_on, "SHORT_DATE_FORMAT"), "rate": _hours(line.pace.per_day),
    }  # fmt: skip
    said = _("Of “%(title)s”, %(used)s of %(all)s GPU·h were used since %(since)s, by %(n)d people.") % facts
    said += " " + _("The last four weeks took %(rate)s GPU·h a day.") % facts
    if line.pace.until:
        day = date_format(line.pace.until, "SHORT_DATE_FORMAT")
        said += " " + _("At this rate it lasts until %(day)s.") % {"day": day}
    return "\n".join([said, *map(_of_type, line.types)])


def _of_type(one: TypeLine) -> str:
    facts = {
        "type": one.name.upper(), "used": _hours(one.balance.used), "all": _hours(one.balance.limit),
        "rate": _hours(one.pace.per_day),
    }  # fmt: skip
    said = _("%(type)s: %(used)s of %(all)s GPU·h, lately %(rate)s a day.") % facts
    if one.pace.until:
        day = date_format(one.pace.until, "SHORT_DATE_FORMAT")
        said += " " + _("At this rate it lasts until %(day)s.") % {"day": day}
    return said


def _hours(minutes: float | None) -> str:
    if minutes is None:
        return "∞"
    hours = minutes / 60
    return number_format(hours, 1 if hours < 100 and hours % 1 else 0)
