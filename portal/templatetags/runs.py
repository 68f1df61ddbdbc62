"""What the pages of jobs draw of what was used, and the links to lines of an output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django import template
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from jobs.advice import Use
from jobs.models import Job
from jobs.services.afterwards import Story
from jobs.services.sweeps import Sweep, Task
from portal.templatetags.ui import duration, megabytes

register = template.Library()
NEAR = 65536  # bytes: as log-links.js has it
SETTLES = timedelta(minutes=4)  # after an end in which its report may still come


@register.filter
def settles(job: Job, story: Story | None) -> bool:
    """Whether more is to be told of an end so recent."""
    if story is None or job.ended_at is None or timezone.now() - job.ended_at > SETTLES:
        return False
    return not (story.is_whole and (story.use is None or story.is_measured))


@register.filter
def readings(use: Use) -> Iterator[dict[str, Any]]:
    """Used against asked for: {"term", "said", "share" in percent or None, "label" for who does not see the bar}."""
    rows = (
        (_("Time"), duration(use.seconds), use.limit_seconds and duration(use.limit_seconds),
         use.limit_seconds and use.seconds / use.limit_seconds),
        (_("CPUs busy"), _number(use.cpus_used), _number(use.cpus),
         use.cpus_used and use.cpus and use.cpus_used / use.cpus),
        (_("Memory, peak"), megabytes(_whole(use.peak_memory_mb)), megabytes(use.memory_mb), use.memory_share),
        (_("GPU-hours"), _number(use.gpu_hours, 2) if use.gpus else "–", use.gpus and _number(use.gpu_hours_asked, 2),
         use.gpus and use.gpu_hours_asked and use.gpu_hours / use.gpu_hours_asked),
    )  # fmt: skip
    for term, used, asked, share in rows:
        if used == "–":
            continue
        said = _("%(used)s of %(asked)s") % {"used": used, "asked": asked} if asked else used
        yield {"term": term, "said": said, "share": 100 * share if share else None, "label": f"{term}: {said}"}


def _number(value: float | None, decimals: int = 1) -> str:
    if value is None:
        return "–"
    value = round(value, decimals)  # number_format cuts off
    return number_format(value, 0 if value == int(value) else decimals)


def _whole(value: float | None) -> float | None:
    return None if value is None else round(value)


@register.filter
def reading(value: float | None) -> str:
    """A metric with the figures that count, four at the most."""
    if value is None:
        return "–"
    kept = Decimal(f"{value:.4g}").normalize()
    return number_format(kept, min(12, max(0, -int(kept.as_tuple().exponent))))


@register.simple_tag
def place(found: Mapping[str, Any]) -> str:
    """The address' tail that leads to a line of the output: #L12, with the byte where it lies far from the start."""
    line, offset = found.get("line"), int(found.get("offset") or 0)
    stream = "?stream=stderr" if found.get("stream") == "stderr" else ""
    far = f"@{offset}" if offset > NEAR else ""
    return stream + (f"#L{int(line)}{far}" if line else f"#B{offset}")


@register.simple_tag
def difference(line: str) -> SafeString:
    """A line of a difference, coloured and with its sign."""
    css = {"+": "is-new", "-": "is-old", "@": "is-at"}.get(line[:1], "")
    return format_html('<span class="{}">{}</span>\n', css, line)


@register.filter
def cells(task: Task, sweep: Sweep) -> Iterator[str]:
    """A task's parameters, then last and best of each value."""
    for name in sweep.parameters:
        value = task.parameters.get(name, "")
        yield reading(value) if isinstance(value, float) else str(value)
    for name in sweep.values:
        found = task.values.get(name, {})
        yield from (reading(found.get(kind)) for kind in ("last", "best"))
