"""What pages of allocations draw: the use of an allocation over its period, with where the present pace leads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, pgettext
from django.utils.translation import gettext as _

from portal.templatetags.ui import gpu_hours
from quotas.panels import Panel

register = template.Library()
WIDTH, HEIGHT, POINTS = 560, 100, 120
ROOM = timedelta(days=30)  # shown ahead where an allocation has no end


class Frame(NamedTuple):
    """The days at both edges, and the GPU-minutes at the upper one."""

    start: date
    end: date
    top: float

    def x(self, day: date) -> float:
        """Part of the width, 0 to 1."""
        return max(0.0, min(1.0, (day - self.start).days / max(1, (self.end - self.start).days)))

    def at(self, day: date, minutes: float) -> str:
        """A point of the drawing."""
        return f"{self.x(day) * WIDTH:.1f} {HEIGHT - min(1.0, minutes / self.top) * HEIGHT:.1f}"


@register.simple_tag
def burn(line: Panel) -> SafeString:
    """Used so far as an area, the even pace and the present one as broken lines; nothing before it began."""
    row, today = line.allocation, timezone.now().date()
    if today < row.starts_on:
        return SafeString("")
    used = line.balance.used
    ahead = used + line.pace.per_day * (ROOM.days if row.ends_on is None else max(0, (row.ends_on - today).days))
    frame = Frame(row.starts_on, row.ends_on or today + ROOM, float(line.balance.limit or max(60, ahead) * 1.15))
    now = min(today, frame.end)
    points = _points(line, frame, now)
    return format_html(
        '<svg class="chart burn" role="img" aria-label="{}"><svg x="0" y="8" width="100%" height="100" '
        'viewBox="0 0 560 100" preserveAspectRatio="none" overflow="visible">'
        '<path class="c-grid" d="M0 100H560M0 50H560"/>{}<path class="c-area" d="M{}L{} 100Z"/>'
        '<path class="c-line" d="M{}"/>{}'
        '<path class="c-cross" d="M{} 0V100"/></svg>{}</svg>',
        _label(line), _limit(line), "L".join([f"{frame.x(frame.start) * WIDTH:.1f} 100", *points]),
        points[-1].split(" ")[0], "L".join(points), _ahead(line, frame, now), f"{frame.x(now) * WIDTH:.1f}",
        _texts(line, frame, now),
    )  # fmt: skip


def _points(line: Panel, frame: Frame, now: date) -> Sequence[str]:
    """The sum up to each day, at most POINTS of them and always the last."""
    total, sums = 0.0, [(frame.start, 0.0)]
    for day, seconds in line.days:
        total += seconds / 60
        sums.append((day, total))
    sums.append((now, max(total, float(line.balance.used))))
    step = max(1, len(sums) // POINTS)
    return [frame.at(day, minutes) for day, minutes in [*sums[:-1:step], sums[-1]]]


def _limit(line: Panel) -> SafeString:
    if line.balance.limit is None:
        return SafeString("")
    even = SafeString('<path class="c-second" d="M0 100L560 0"/>') if line.allocation.ends_on else SafeString("")
    return SafeString('<path class="c-limit" d="M0 0H560"/>') + even


def _ahead(line: Panel, frame: Frame, now: date) -> SafeString:
    """Where the present pace leads: to the limit, or to the end of the period."""
    until = min(line.pace.until or frame.end, frame.end)
    if until <= now or not line.pace.per_day:
        return SafeString("")
    used = line.balance.used
    there = frame.at(until, used + line.pace.per_day * (until - now).days)
    return format_html('<path class="c-ahead" d="M{}L{}"/>', frame.at(now, used), there)


def _texts(line: Panel, frame: Frame, now: date) -> SafeString:
    here = frame.x(now)
    parts = [_text(here, 124, _("today"), "strong", here)]
    if here > 0.16:
        parts.append(_text(0, 124, _day(frame.start), "", 0))
    if here < 0.84:
        parts.append(_text(1, 124, _day(frame.end), "", 1))
    if line.balance.limit is not None:
        parts.append(_text(0, 23, f"{gpu_hours(line.balance.limit)} GPU·h", "", 0))
    until = line.pace.until
    if until and until > now:
        at = frame.x(until)
        parts.append(format_html('<circle cx="{}%" cy="8" r="3.5" class="q-mine"/>', f"{at * 100:.1f}"))
        parts.append(_text(1, 78, _("used up %(day)s") % {"day": _day(until)}, "strong", 1))
    return SafeString("".join(parts))


def _text(share: float, y: int, words: str, css: str, lean: float) -> SafeString:
    anchor = "start" if lean < 0.08 else "end" if lean > 0.92 else "middle"
    return format_html(
        '<text class="{}" x="{}%" y="{}" text-anchor="{}">{}</text>', css, f"{share * 100:.1f}", y, anchor, words
    )


def _day(day: date) -> str:
    text = date_format(day, pgettext("day and month, short", "M j"))
    return text.lower() if (get_language() or "").startswith("pt") else text


@register.filter
def month_name(first: date) -> str:
    """A month and its year in words; in Portuguese months are written small."""
    text = date_format(first, pgettext("month and year", "F Y"))
    return text.lower() if (get_language() or "").startswith("pt") else text


def _label(line: Panel) -> str:
    facts = {"used": gpu_hours(line.balance.used), "title": line.allocation.title}
    said = _("Use of %(title)s over its period: %(used)s GPU·h up to today.") % facts
    if line.pace.until:
        day = date_format(line.pace.until, "SHORT_DATE_FORMAT")
        said += " " + _("At this rate it lasts until %(day)s.") % {"day": day}
    return said
