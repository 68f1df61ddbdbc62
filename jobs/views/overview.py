"""The operator's pages: all projects, sorted, filtered and paged or as CSV, and what is asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from accounts.http import SignedInRequest
from audit import trail
from audit.actions import Action
from jobs import projects as rows_of
from jobs import ticks
from projects import tables
from projects.models import ProjectRequest, ProjectState, RequestState
from projects.views.opening import operator
from quotas import wishes
from quotas.models import AllocationRequest

PAGE = 25
REQUESTS = 200


class Line(NamedTuple):
    """One project as the table shows it; plain values, so that the same row is drawn once (see the tag `kept`)."""

    code: str
    title: str
    organization: str
    led_by: str
    members: int
    unfinished: int
    running: int
    state: str
    opened: datetime
    ticks: tuple[str, ...]

    @classmethod
    def of(cls, row: Any) -> Line:
        """Of a row as `jobs.projects` reads it."""
        return cls(
            row.code, row.title, row.organization, ", ".join(row.pis), row.members, row.unfinished, row.running,
            str(row.get_state_display()), row.created_at, tuple(tick.state for tick in _ticks(row)),
        )  # fmt: skip


@login_required
@require_GET
def projects(request: SignedInRequest) -> HttpResponse:
    """All projects."""
    operator(request)
    asked = _asked(request)
    after = request.GET.get("after", "")[:300]
    found = list(rows_of.page(asked, after)[: PAGE + 1]) if after else rows_of.first(asked, PAGE + 1)
    shown = found[:PAGE]
    context = {
        "asked": asked,
        "lines": [Line.of(row) for row in shown],
        "next": _query(asked, rows_of.cursor(asked, shown[-1])) if len(found) > PAGE else "",
        "first": _query(asked) if after else "",
        "columns": _columns(asked),
        "csv": _query(asked),
        "states": ProjectState.choices,
    }
    return render(request, "operate/_projects.html" if request.htmx else "operate/projects.html", context)


def _asked(request: SignedInRequest) -> rows_of.Asked:
    get = request.GET.get
    return rows_of.Asked(
        q=get("q", "")[:64].replace("\x00", "").strip(),
        state=get("state", "") if get("state") in ProjectState.values else "",
        trouble=get("trouble") == "1",
        sort=get("sort", "") if get("sort", "").removeprefix("-") in rows_of.SORTS else "title",
    )


def _query(asked: rows_of.Asked, after: str = "", **other: str) -> str:
    facts = dataclasses.asdict(asked) | {"trouble": "1" if asked.trouble else "", "after": after} | other
    return urlencode({name: value for name, value in facts.items() if value})


def _columns(asked: rows_of.Asked) -> list[dict[str, Any]]:
    """The heads one may sort by: `query` sorts by it, turning round what is sorted by it already."""
    names = {
        "title": _("Project"), "members": _("Members"), "jobs": _("Jobs now"), "opened": _("Open since"),
    }  # fmt: skip
    key, down = asked.sort.removeprefix("-"), asked.sort.startswith("-")
    first = {"members": "-", "jobs": "-", "opened": "-"}
    return [
        {
            "name": name, "label": label, "order": ("descending" if down else "ascending") if name == key else "",
            "query": _query(asked, sort=(("" if down else "-") if name == key else first.get(name, "")) + name),
        }
        for name, label in names.items()
    ]  # fmt: skip


def _ticks(row: Any) -> list[ticks.Tick]:
    return ticks.of(row.enforcement.ticks if hasattr(row, "enforcement") else None)


@login_required
@require_GET
def projects_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """The same rows, all of them, as CSV; that somebody took them is recorded."""
    operator(request)
    asked = _asked(request)
    trail.record(Action.PROJECTS_EXPORTED, by=request.user, filter=dataclasses.asdict(asked))
    head = [
        _("code"), _("title"), _("organization"), _("PI"), _("members"), _("state"), _("from"), _("until"),
        _("jobs running"), _("jobs waiting"), *(tick.name for tick in ticks.of(None)),
    ]  # fmt: skip
    return tables.of_today("projects", head, _cells(asked))


def _cells(asked: rows_of.Asked) -> Iterator[list[Any]]:
    rows: Any = rows_of.page(asked).iterator(chunk_size=500)
    for row in rows:
        yield [
            row.code, row.title, row.organization, "; ".join(row.pis), row.members, row.get_state_display(),
            row.starts_on, row.ends_on, row.running, row.unfinished - row.running,
            *(str(tick.label) for tick in _ticks(row)),
        ]  # fmt: skip


@login_required
@require_GET
def requests(request: SignedInRequest) -> HttpResponse:
    """What waits for an operator's decision: projects asked for, and allocations of projects."""
    operator(request)
    projects_asked = ProjectRequest.objects.filter(state=RequestState.OPEN).select_related("asked_by")
    named = ("asked_by", "project", "allocation", "funding")
    allocations = AllocationRequest.objects.filter(state=RequestState.OPEN).select_related(*named)
    context = {
        "projects_asked": list(projects_asked.order_by("asked_at")[:REQUESTS]),
        "allocations_asked": [(row, wishes.asked(row)) for row in allocations.order_by("asked_at")[:REQUESTS]],
    }
    return render(request, "operate/requests.html", context)
