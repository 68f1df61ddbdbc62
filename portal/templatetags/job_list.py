"""The rows of the list of jobs, put together by hand: a page has fifty, of up to fourteen cells each.

A template takes twice the time of all else on the page to ask fifty times which columns are shown. Every text that is
not ours is escaped where it is taken into a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from html import escape
from typing import Any

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from jobs.columns import COLUMNS, NUMBERS
from jobs.models import Job
from jobs.services.others import Stranger
from portal.templatetags.jobs import limit_seconds, resources
from portal.templatetags.ui import ago, duration, state

register = template.Library()
NONE = "–"


@register.simple_tag
def job_rows(jobs: Iterable[Job | Stranger], shown: Collection[str]) -> SafeString:
    """A table's body: the job, then the columns `shown`; of a stranger's job what the site allows."""
    names = [name for name in COLUMNS if name in shown]
    opened = [(name, _opening(name)) for name in names]
    choose, strange = escape(_("choose %(name)s")), escape(_("another project's job"))
    outside = f'<span class="tag">{escape(_("outside the portal"))}</span>'
    drawn = []
    for job in jobs:
        if isinstance(job, Stranger):
            first, cells, css = strange, _STRANGE, ' class="muted"'
        else:
            first, cells, css = _first(job, choose, outside), _OWN, ""
        rest = "".join(f"{start}{cells[name](job, shown)}</td>" for name, start in opened)
        drawn.append(f"<tr{css}><td>{first}</td>{rest}</tr>\n")
    return SafeString("".join(drawn))


def _opening(name: str) -> str:
    """The start of a column's cells; on a narrow screen a cell that does not speak for itself says what it is."""
    css = _CSS.get(name, "num" if name in NUMBERS else "")
    head = "" if name in _PLAIN else f' data-th="{escape(str(COLUMNS[name]))}"'
    return f'<td class="{css}"{head}>' if css else f"<td{head}>"


_CSS = {"project": "wide", "person": "mono", "resources": "nowrap", "preset": "mono", "nodes": "mono"}
_PLAIN = ("state", "project", "resources", "asked")


def _first(job: Job, choose: str, outside: str) -> str:
    name = escape(job.called)
    number = f"{job.slurm_job_id:d}" if job.slurm_job_id else ""
    return (
        f'<input class="form-check-input chooses" type="checkbox" name="job" value="{job.pk}" '
        f'aria-label="{choose % {"name": name}}"> <a class="name" href="{job.get_absolute_url()}">{name}</a>'
        f'{f" {outside}" if job.is_outside else ""} <span class="sub mono">{number}</span>'
    )


def _said(value: object) -> str:
    return NONE if value in (None, "") else escape(str(value))


def _moment(value: datetime | None) -> str:
    return ago(value) if value else NONE


def _with(text: str, under: str, shown: bool, css: str = "sub") -> str:
    """A second line where the column that would say it is not shown."""
    return f'{escape(text)}<span class="{css}">{escape(under)}</span>' if shown else escape(text)


def _asked(job: Job | Stranger) -> str:
    if isinstance(job, Job):
        return resources(job)
    if job.gpus is None:
        return NONE
    return f"{job.gpus} × {job.gpu_type.upper() or 'GPU'}" if job.gpus else _("no GPU")


Cell = Callable[[Any, Collection[str]], str]
_OWN: dict[str, Cell] = {
    "state": lambda job, shown: state(job.view),
    "project": lambda job, shown: _with(job.project.title, job.owner_login, "person" not in shown, "sub mono"),
    "person": lambda job, shown: escape(job.owner_login),
    "resources": lambda job, shown: _with(_asked(job), job.partition, "partition" not in shown),
    "partition": lambda job, shown: escape(job.partition),
    "preset": lambda job, shown: _said(job.options.get("preset")),
    "note": lambda job, shown: _said(job.note),
    "nodes": lambda job, shown: _said(job.node_list),
    "exit": lambda job, shown: _said(job.exit_code),
    "limit": lambda job, shown: duration(limit_seconds(job)),
    "duration": lambda job, shown: duration(job.elapsed_seconds()),
    "asked": lambda job, shown: _moment(job.created_at),
    "started": lambda job, shown: _moment(job.started_at),
    "ended": lambda job, shown: _moment(job.ended_at),
}
_STRANGE: dict[str, Cell] = dict.fromkeys(COLUMNS, lambda job, shown: NONE) | {
    "state": lambda job, shown: state(job.view) if job.view else NONE,
    "project": lambda job, shown: _said(job.project),
    "person": lambda job, shown: _said(job.login),
    "resources": _OWN["resources"],
    "partition": lambda job, shown: _said(job.partition),
    "duration": lambda job, shown: duration(job.seconds),
    "asked": _OWN["asked"],
    "started": _OWN["started"],
    "ended": _OWN["ended"],
}
