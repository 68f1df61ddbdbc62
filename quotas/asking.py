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
from quotas.panels import Panel

ROUND = 10  # GPU-hours a suggestion is rounded up to
LONGER = timedelta(days=180)


def initial(lines: Sequence[Panel], code: str, kind: str) -> dict[str, Any]:
    """Values of the form for this allocation (else the default one) and kind; of a project without one, a new one."""
    line = next((one for one in lines if one.allocation.code == code), None) or (lines[0] if lines else None)
    if line is None or kind == Kind.NEW:
        today = timezone.now().date()
        return {"kind": Kind.NEW, "starts_on": today, "ends_on": today + timedelta(days=364)}
    row = line.allocation
    values: dict[str, Any] = {
        "kind": kind if kind in Kind.values else Kind.MORE, "allocation": row, "funding": row.funding,
        "gpus_at_once": row.gpus_at_once, "why": measured(line) + "\n\n",
    }  # fmt: skip
    if kind == Kind.LONGER:
        return values | {"ends_on": max(row.ends_on or timezone.now().date(), timezone.now().date()) + LONGER}
    return values | {"gpu_minutes": suggested(line)}


def suggested(line: Panel) -> int | None:
    """GPU-minutes that would last to the end at the present pace; a quarter more where that is not more already."""
    limit = line.balance.limit
    if limit is None:
        return None
    ends = line.allocation.ends_on
    days = (ends - timezone.now().date()).days if ends else 0
    needed = line.balance.used + line.pace.per_day * max(0, days)
    if needed <= limit:
        needed = limit * 1.25
    return math.ceil(needed / 60 / ROUND) * ROUND * 60


def measured(line: Panel) -> str:
    """What was measured, in the words of whoever asks."""
    row, balance = line.allocation, line.balance
    facts = {
        "title": row.title, "used": _hours(balance.used), "all": _hours(balance.limit), "n": len(line.people),
        "since": date_format(row.starts_on, "DATE_FORMAT"), "rate": _hours(line.pace.per_day),
    }  # fmt: skip
    said = _("Of “%(title)s”, %(used)s of %(all)s GPU·h were used since %(since)s, by %(n)d people.") % facts
    said += " " + _("The last four weeks took %(rate)s GPU·h a day.") % facts
    if line.pace.until:
        day = date_format(line.pace.until, "DATE_FORMAT")
        said += " " + _("At this rate it lasts until %(day)s.") % {"day": day}
    return said


def _hours(minutes: float | None) -> str:
    if minutes is None:
        return "∞"
    hours = minutes / 60
    return number_format(hours, 1 if hours < 100 and hours % 1 else 0)
