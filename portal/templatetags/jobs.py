"""What pages of jobs say and draw: why a job waits, how it ended, its time as a scale, the GPUs of a node."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from cluster.models import Node
from jobs import reasons, ticks
from jobs.models import Job, Kind, Notice
from jobs.states import State, view
from portal.templatetags.ui import duration, icon, short, squares

register = template.Library()
WAITING = (State.WAITING, State.HELD, State.REQUEUED)
STEPS = (1, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1440, 2880, 10080)  # minutes between two marks of the scale


@register.filter
def why(job: Job) -> reasons.Reason | None:
    """Why it waits, in plain words; None while it does not wait or Slurm gives no reason."""
    return reasons.explain(job.reason) if job.state in WAITING else None


@register.filter
def told(notice: Notice) -> str:
    """A notice in words."""
    job = {"job": notice.job.called, "state": view(notice.job.state).label}
    if notice.kind == Kind.STARTED:
        return _("%(job)s has started.") % job
    if notice.kind == Kind.TIME:
        said = _("%(job)s has used 80 %% of its time.")
        return (_("A task of %(job)s has used 80 %% of its time.") if notice.job.is_array else said) % job
    if notice.job.is_open:
        return _("%(job)s had ended, and runs again.") % job
    if notice.job.state == State.FAILED:
        return _("%(job)s has failed.") % job
    said = _("%(job)s has failed: %(state)s.") if notice.kind == Kind.FAILED else _("%(job)s has ended: %(state)s.")
    return said % job


@register.filter
def ending(job: Job) -> reasons.Reason | None:
    """How it ended, where that needs a word."""
    asked = job.cancel_asked_by if job.state == State.CANCELLED else None  # a person more to read
    return reasons.ended(job, asked.name if asked else "")


@register.filter
def resources(job: Job) -> str:
    """What it asked for, in one short phrase: 4 × A100, or 8 CPUs."""
    if job.gpus:
        return f"{job.total_gpus} × {job.gpu_type.upper() or 'GPU'}"
    cpus = job.cpus * job.nodes
    return ngettext("%(n)s CPU", "%(n)s CPUs", cpus) % {"n": cpus}


@register.filter
def limit_seconds(job: Job) -> float | None:
    """Its time limit."""
    return job.time_limit_minutes * 60 if job.time_limit_minutes else None


@register.filter
def share_of_limit(job: Job) -> float:
    """Elapsed minutes, for a bar over the job's time limit."""
    return (job.elapsed_seconds() or 0) / 60


def hosts(text: str) -> set[str]:
    """The names in Slurm's short form: "a01,g[02-04,7]"."""
    found: set[str] = set()
    for prefix, ranges in re.findall(r"([^,\[\]]+)(?:\[([^\]]*)\])?", text):
        for part in ranges.split(",") if ranges else [""]:
            first, _dash, last = part.partition("-")
            found |= {f"{prefix}{n:0{len(first)}d}" for n in _span(first, last)} if first.isdigit() else {prefix}
    return found


def _span(first: str, last: str) -> Iterable[int]:
    start = int(first)
    return range(start, min(int(last) if last.isdigit() else start, start + 4096) + 1)


@register.simple_tag
def node_gpus(node: Node, running: Collection[Job]) -> SafeString:
    """One square per GPU of a node; `running` are the person's own running jobs."""
    mine = min(node.gpus, sum(job.gpus for job in running if job.gpus and node.name in hosts(job.node_list)))
    busy = max(0, min(node.gpus, node.gpus_allocated) - mine)
    rest = node.gpus - mine - busy
    free, off = (0, rest) if node.out_of_service else (rest, 0)
    label = _("%(node)s: %(mine)s yours, %(busy)s of others, %(free)s free, %(off)s out of service") % {
        "node": node.name, "mine": mine, "busy": busy, "free": free, "off": off,
    }  # fmt: skip
    return squares(mine, busy, free, off, label)


@register.simple_tag
def next_end(running: Collection[Job]) -> str:
    """When the next of these ends at the latest; "" where none has a time limit."""
    ends = [job.ends_by for job in running if job.ends_by]
    return short(min(ends)) if ends else ""


@register.filter
def free_gpus(node: Node) -> int:
    """GPUs one could get there now."""
    return 0 if node.out_of_service else max(0, node.gpus - node.gpus_allocated)


def _marks(minutes: int) -> list[int]:
    """Where the scale is marked: at most 12 marks, at round distances (minutes)."""
    step = next((step for step in STEPS if minutes / step <= 12), STEPS[-1])
    return [*range(0, minutes, step), minutes]


def _pc(part: float, whole: float) -> str:
    return f"{min(100.0, 100 * part / whole):.2f}%"


@register.simple_tag
def ruler(job: Job, now: datetime) -> SafeString:
    """The job's time limit as a scale, with what has passed of it; nothing before it starts or without a limit."""
    limit = job.time_limit_minutes
    elapsed = job.elapsed_seconds(now)
    if elapsed is None or job.started_at is None or not limit:
        return SafeString("")
    passed = min(elapsed / 60, limit)
    ends = job.started_at + timedelta(minutes=limit)
    label = _("%(elapsed)s of %(limit)s; started %(start)s, limit %(end)s") % {
        "elapsed": duration(elapsed), "limit": duration(limit * 60),
        "start": short(job.started_at), "end": short(ends),
    }  # fmt: skip
    return format_html(
        '<svg class="ruler" role="img" aria-label="{}"><rect class="base" y="16" width="100%" height="10"/>'
        '<rect class="past" y="16" width="{}" height="10"/>{}{}{}</svg>',
        label, _pc(passed, limit), _scale(limit), _ends(job.started_at, ends, limit), _now(job, now, elapsed, passed),
    )  # fmt: skip


def _scale(limit: int) -> SafeString:
    marks = _marks(limit)
    return format_html_join(
        "", '<line x1="{}" x2="{}" y1="26" y2="{}"/>',
        ((_pc(at, limit), _pc(at, limit), 33 if at in (0, limit) or i % 2 == 0 else 30) for i, at in enumerate(marks)),
    )  # fmt: skip


def _ends(start: datetime, end: datetime, limit: int) -> SafeString:
    half = next((at for at in _marks(limit) if at >= limit / 2), limit)
    middle = format_html('<text x="{}" y="45" text-anchor="middle">{}</text>', _pc(half, limit), duration(half * 60))
    return format_html(
        '<text x="0" y="45">{} {}</text>{}<text x="100%" y="45" text-anchor="end">{} {}</text>',
        short(start), _("start"), middle if 0.3 < half / limit < 0.8 else "", _("limit"), short(end),
    )  # fmt: skip


def _now(job: Job, now: datetime, elapsed: float, passed: float) -> SafeString:
    limit = job.time_limit_minutes or 1
    at = _pc(passed, limit)
    anchor = "start" if passed < limit * 0.66 else "end"
    said = duration(elapsed) if job.ended_at else f"{short(now)} · {duration(elapsed)}"
    left = "" if job.ended_at or passed > limit * 0.6 else format_html(
        '<text class="wide-only" x="100%" y="9" text-anchor="end">{}</text>',
        _("%(time)s left") % {"time": duration(limit * 60 - elapsed)},
    )  # fmt: skip
    line = format_html('<line class="nowline" x1="{}" x2="{}" y1="11" y2="30"/>', at, at)
    return format_html('{}<text class="now" x="{}" y="9" text-anchor="{}">{}</text>{}', line, at, anchor, said, left)


@register.simple_tag
def cluster_totals(nodes: Collection[Node]) -> dict[str, int]:
    """GPUs, CPUs and nodes: all, in use, free, out of service."""
    serving = [node for node in nodes if not node.out_of_service]
    return {
        "gpus": sum(node.gpus for node in nodes),
        "busy": sum(node.gpus_allocated for node in nodes),
        "free": sum(free_gpus(node) for node in nodes),
        "cpus": sum(node.cpus for node in nodes),
        "cpus_busy": sum(node.cpus_allocated for node in nodes),
        "nodes": len(nodes),
        "out": len(nodes) - len(serving),
    }


@register.simple_tag
def node_state(node: Node) -> SafeString:
    """A node's state: in service, in use, or out of service, with Slurm's own words as the title."""
    words = " ".join(node.states)
    if node.out_of_service:
        css, sign, text = "out", "s-node", _("out of service")
    elif node.cpus_allocated or node.gpus_allocated:
        css, sign, text = "ok", "s-ok", _("in use")
    else:
        css, sign, text = "ok", "s-ok", pgettext("node", "idle")
    return format_html('<span class="state state--{}" title="{}">{}{}</span>', css, words, icon(sign), text)


@register.simple_tag
def small_ticks(states: Iterable[str]) -> SafeString:
    """A project's four ticks by their states: signs alone, but what is absent is named."""
    drawn = [ticks.Tick(name, state) for name, state in zip(ticks.NAMES.values(), states, strict=True)]
    return format_html_join(
        "",
        '<span class="tick" title="{}">{}{}</span>',
        ((tick.said, icon(tick.icon, tick.said, tick.css), _named(tick)) for tick in drawn),
    )


def _named(tick: ticks.Tick) -> SafeString:
    return (
        format_html('<span class="tick__name" aria-hidden="true">{}</span>', tick.name)
        if tick.state == "absent"
        else SafeString("")
    )
