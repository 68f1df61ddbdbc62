"""What pages draw of GPUs: the small picture of a card, a node's cards as boxes, readings with their units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from statistics import fmean
from typing import Literal

from django import template
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from cluster.metrics.host_names import OF_JOB, OF_NODE, UNITS
from cluster.models import Gpu, Maintenance, Node
from jobs.services.gpus.boxes import Box
from jobs.services.gpus.showing import Line
from portal.templatetags.ui import duration, megabytes
from portal.templatetags.words import hosts

register = template.Library()
WIDTH, HEIGHT = 240, 40


@register.simple_tag
def spark(line: Line) -> SafeString:
    """Its utilisation as a small picture, 0 to 100 %; holes where nothing was read, hatched while it is idle."""
    values = list(line.spark)
    paths = "".join(_piece(piece, len(values)) for piece in pieces(values))
    idle = _idle(line, len(values))
    return format_html(
        '<svg class="gpu__chart" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="img" aria-label="{label}">'
        '<path class="c-grid" d="M0 1H{w}M0 {half}H{w}M0 {h}H{w}"/>'
        "{idle}{paths}</svg>",
        w=WIDTH, h=HEIGHT, half=HEIGHT // 2, label=words_of(line), idle=idle, paths=SafeString(paths),
    )  # fmt: skip


def pieces(values: Sequence[int | None]) -> Iterator[list[tuple[int, int]]]:
    """Runs of values without a hole, each value with its place."""
    piece: list[tuple[int, int]] = []
    for place, value in enumerate(values):
        if value is not None:
            piece.append((place, max(0, min(100, value))))
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


def _x(place: int, count: int) -> float:
    return round(WIDTH * place / max(1, count - 1), 1)


def _piece(piece: list[tuple[int, int]], count: int) -> str:
    dots = [f"{_x(place, count)} {round(HEIGHT - 1 - (HEIGHT - 2) * value / 100, 1)}" for place, value in piece]
    first, last = _x(piece[0][0], count), _x(piece[-1][0], count)
    line = "M" + "L".join(dots)
    return f'<path class="c-area" d="{line}L{last} {HEIGHT}L{first} {HEIGHT}Z"/><path class="c-line" d="{line}"/>'


def _idle(line: Line, count: int) -> SafeString:
    """The idle end of the picture, hatched: a reading every quarter of a minute."""
    if not line.idle_seconds or count < 2:
        return SafeString("")
    steps = min(count - 1, line.idle_seconds / 15)
    start = WIDTH * (1 - steps / (count - 1))
    return format_html('<rect class="c-idle" x="{}" y="1" width="{}" height="{}"/>', round(start, 1),
                       round(WIDTH - start, 1), HEIGHT - 2)  # fmt: skip


KINDS = {"mine": "mine", "seen": "busy", "busy": "busy", "free": "free", "off": "off", "outside": "outside"}


@register.simple_tag
def gpu_boxes(found: Sequence[Box], node: Node) -> SafeString:
    """A node's GPUs as small boxes; a mark on those that are hot, another on those that fail."""
    shapes = "".join(_box(place, box) for place, box in enumerate(found))
    label = f"{node.name}: " + "; ".join(box_words(box) for box in found)
    return format_html(
        '<svg class="boxes" viewBox="0 0 {} 16" preserveAspectRatio="xMinYMid" role="img" aria-label="{}">{}</svg>',
        max(8, len(found)) * 18 - 2, label, SafeString(shapes),
    )  # fmt: skip


def _box(place: int, box: Box) -> str:
    x = place * 18 + 0.5
    title = format_html("<title>{}</title>", box_words(box))
    shape = f'<rect class="q-{KINDS[box.kind]}" x="{x}" y="0.5" width="15" height="15" rx="1"/>'
    if box.is_failing:
        shape += f'<path class="q-fails" d="M{x + 4} 4.5l7 7m0-7l-7 7"/>'
    elif box.is_hot:
        shape += f'<path class="q-hot" d="M{x + 7.5} 3.5l4 8h-8Z"/>'
    return f"<g>{title}{shape}</g>"


@register.filter
def login_of(uid: int | None, people: dict[int, str]) -> str:
    """A login where we know the number, else the number."""
    return people.get(uid, str(uid)) if uid is not None else "?"


@register.filter
def near(windows: Sequence[Maintenance]) -> Maintenance | None:
    """The window that is under way or begins within a week."""
    soon = timezone.now() + timedelta(days=7)
    return next((window for window in windows or () if window.starts_at <= soon), None)


@register.filter
def free_boxes(found: Sequence[Box]) -> int:
    """How many one could get now."""
    return sum(box.kind == "free" for box in found)


@register.filter
def box_words(box: Box) -> str:
    """One GPU in words: "GPU 3: yours, 97 %, hot"."""
    words = [box_state(box)]
    if box.row is not None and box.row.utilization is not None and box.kind not in ("free", "off"):
        words.insert(1, percent(box.row.utilization))
    return _("GPU %(name)s: %(words)s") % {"name": box.index, "words": ", ".join(words)}


@register.filter
def box_state(box: Box) -> str:
    """Whose it is, and whether it is well: "yours, hot"."""
    kinds = {
        "mine": _("yours"), "seen": _("in use"), "busy": _("of others"), "free": _("free"),
        "off": _("out of service"), "outside": _("in use outside the queue"),
    }  # fmt: skip
    marks = [_("failing")] if box.is_failing else [_("hot or slowed")] if box.is_hot else []
    return ", ".join([kinds[box.kind], *marks])


@register.filter
def reasons(found: Sequence[str]) -> str:
    """What holds clocks down, in words."""
    words = {"power": _("power"), "thermal": _("heat"), "hardware": _("hardware"), "other": _("other reasons")}
    return ", ".join(words[one] for one in found if one in words)


@register.filter
def words_of(line: Line) -> str:
    """The same in words: "GPU 0: 97 %, 71.2 of 80 GB, 402 W, 64 °C"."""
    parts = [percent(line.now), memory(line), watts(line.power), degrees(line.temperature)]
    if line.idle_seconds:
        parts.append(_("idle for %(time)s") % {"time": duration(line.idle_seconds)})
    return _("GPU %(name)s: %(words)s") % {"name": line.name, "words": ", ".join(part for part in parts if part)}


@register.filter
def percent(value: float | Literal[""] | None) -> str:
    """97 %; a dash where nothing was read."""
    return "–" if value is None or value == "" else f"{number_format(round(value))} %"


@register.filter
def memory(line: Line) -> str:
    """71.2 of 80 GB."""
    if line.memory is None or not line.memory_total:
        return ""
    used, whole = number_format(line.memory / 1024, 1), number_format(line.memory_total / 1024, 0)
    return _("%(used)s of %(all)s GB") % {"used": used, "all": whole}


@register.filter
def watts(value: float | Literal[""] | None) -> str:
    """402 W."""
    return "" if value is None or value == "" else f"{number_format(round(value))} W"


@register.filter
def power(row: Gpu | None) -> str:
    """310 of 400 W, where its cap is known."""
    if row is None or row.power_watts is None or row.power_limit_watts is None:
        return watts(row.power_watts if row else None)
    used, cap = number_format(round(row.power_watts)), number_format(round(row.power_limit_watts))
    return _("%(used)s of %(all)s W") % {"used": used, "all": cap}


@register.filter
def degrees(value: float | Literal[""] | None) -> str:
    """64 °C."""
    return "" if value is None or value == "" else f"{number_format(round(value))} °C"


@register.filter
def hours(value: float | None) -> str:
    """2.75; a dash where it is not known."""
    return "–" if value is None else number_format(value, 2 if value < 10 else 1)


@register.filter
def share(value: float | None) -> str:
    """A share from 0 to 1 in percent."""
    return percent(None if value is None else 100 * value)


@register.filter
def readings_of_nodes(kept: Mapping[str, Mapping[str, float]]) -> Iterator[dict[str, str]]:
    """What is kept of a job's nodes: {"term", "all": of all nodes, "most": the highest on one}; none without any."""
    terms = hosts()
    for name in (*OF_JOB, *OF_NODE):
        found = [row[name] for row in kept.values() if name in row]
        highest = [row[f"{name}_most"] for row in kept.values() if f"{name}_most" in row]
        if found:
            whole = fmean(found) if UNITS[name] == "%" else sum(found)
            most = _kept(name, max(highest)) if highest else ""
            yield {"term": str(terms[name]), "all": _kept(name, whole), "most": most}


def _kept(name: str, value: float) -> str:
    """4.0; 25 %; 2.0 GB."""
    if UNITS[name] == "%":
        return percent(value)
    if name == "cpu":
        return number_format(round(value, 1), 1)
    return megabytes(value)
