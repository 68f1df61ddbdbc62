"""The list of jobs: its filters, the views of it that a person keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache, partial
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef, Subquery
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_POST, require_safe

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from accounts.models import User
from cluster.models import PARTITIONS
from jobs import columns
from jobs.acts import OF_MANY, Act
from jobs.models import Job, JobQuerySet, SavedView, Star
from jobs.services import finding, others
from jobs.states import State
from projects.models import Project

EVERYBODY = "cluster"
WHOSE = ("mine", "all", "starred", EVERYBODY)
MORE = ("person", "gpu", "since", "until", "archived")  # filters behind the first ones
PAGE = 50
NOWHERE = -1  # no project


@login_required
@require_safe
def jobs(request: SignedInRequest) -> HttpResponse:
    """Jobs the person may see: own by default, a project's on request; newest first."""
    asked = asked_of(request)
    rows = _rows(request.user, asked)
    shown = columns.chosen(asked["col"])
    context = asked | {
        "shown": shown,
        "heads": columns.heads(shown),
        "boxes": columns.boxes(shown),
        "usual": shown == list(columns.USUAL),
        "others": others.allowed(),
        "jobs": rows[:PAGE],
        "older": rows[PAGE - 1].pk if len(rows) > PAGE else None,
        "states": State,
        "gpu_types": gpu_types(),
        "acts": offered(request.user),
        "moves": not asked["before"] and any(row.is_open for row in rows),
        "narrowed": any(asked[name] for name in MORE),
        "only_signs": bool(asked["q"]) and not finding.is_sought(asked["q"]),
        "views": list(SavedView.objects.filter(user=request.user)[: SavedView.MOST]),
    }
    return render(request, "jobs/_table.html" if request.htmx else "jobs/list.html", context)


def asked_of(request: SignedInRequest) -> dict[str, Any]:
    """The filters of an address; what is none counts as not given."""
    get = request.GET.get
    whose = get("whose", "mine")
    asked = {
        "project_code": _word(get("project", ""), 40),
        "state": get("state") if get("state") in (*State.values, "open") else "",
        "whose": whose if whose in WHOSE else "mine",
        "person": _word(get("person", ""), 64),
        "gpu": _word(get("gpu", ""), 40),
        "since": _day(get("since", "")),
        "until": _day(get("until", "")),
        "archived": get("archived") == "yes",
        "q": _word(get("q", ""), 64),
        "before": _uuid(get("before", "")),
        "col": request.GET.getlist("col")[: len(columns.COLUMNS)],
    }
    return others.filters(asked) if whose == EVERYBODY and others.allowed() else asked


def _word(text: str, most: int) -> str:
    return text[:most].replace("\x00", "").strip()


def _day(text: str) -> date | None:
    """2026-03-12; what is no day counts as not given."""
    try:
        return parse_date(text)
    except ValueError:
        return None


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _rows(user: User, asked: dict[str, Any]) -> Sequence[Job | others.Stranger]:
    """One more than a page."""
    if is_everybodys(asked):
        return others.lines(narrowed_as(user, asked), by=user, most=PAGE + 1)
    if asked["q"]:  # it is looked for inside names and notes: no statement of one shape
        return list(gate.allowing(narrowed_as(user, asked), user, Permission.JOB_VIEW)[: PAGE + 1])
    values, under_way = _values(user, asked), asked["state"] == "open"
    return _listing(frozenset(values), under_way, asked["archived"]).allowing(user, Permission.JOB_VIEW, **values)


def is_everybodys(asked: dict[str, Any]) -> bool:
    """Whether it is the list of the whole cluster's, in which strangers' rows are reduced to what the site allows."""
    return asked["whose"] == EVERYBODY and bool(others.allowed())


def narrowed_as(user: User, asked: dict[str, Any]) -> JobQuerySet:
    """The rows of a list so filtered, newest first, not yet narrowed to what the person may see."""
    archived = asked["archived"] or is_everybodys(asked)
    return _narrowed(asked["state"] == "open", archived, **_values(user, asked))


def _values(user: User, asked: dict[str, Any]) -> dict[str, Any]:
    """What the list is narrowed by."""
    values = {
        "owner": user.pk if asked["whose"] == "mine" else None,
        "project": asked["project_code"],
        "state": "" if asked["state"] == "open" else asked["state"],
        "text": asked["q"],
        "before": asked["before"],
        "starred": user.pk if asked["whose"] == "starred" else None,
        "login": asked["person"],
        "gpu": asked["gpu"],
        "since": asked["since"] and finding.first_of(asked["since"]),
        "until": asked["until"] and finding.after(asked["until"]),
    }
    return {name: value for name, value in values.items() if value} | _within(user, asked)


def _within(user: User, asked: dict[str, Any]) -> dict[str, int]:
    """`in_0`, `in_1` ...: where all that the person may see can be, if it is in few projects."""
    is_bounded = asked["whose"] in ("mine", "starred") or asked["project_code"] or is_everybodys(asked)
    found = None if is_bounded else finding.only_in(user)
    return {} if found is None else {f"in_{n}": key for n, key in enumerate(found or [NOWHERE])}


@cache
def _listing(_names: frozenset[str], under_way: bool, archived: bool) -> gate.Listing[Job]:
    """The list by these filters, whatever their values."""
    return gate.Listing(partial(_narrowed, under_way, archived), most=PAGE + 1)


def _narrowed(under_way: bool, archived: bool, **values: Any) -> JobQuerySet:
    fields = {
        "owner": "owner", "state": "state", "login": "owner_login", "gpu": "gpu_type", "since": "pk__gte",
        "until": "pk__lt",
    }  # fmt: skip
    rows = Job.objects.lines().filter(**{fields[name]: value for name, value in values.items() if name in fields})
    if within := [value for name, value in values.items() if name.startswith("in_")]:
        rows = rows.filter(project__in=within)
    if "text" in values:
        rows = rows.filter(finding.saying(values["text"])) if finding.is_sought(values["text"]) else rows.none()
    if "project" in values:
        project = Project.objects.filter(code=values["project"]).values("pk")[:1]
        rows = rows.filter(project=Subquery(project))  # as one value, so that the rows come by their index
    if "starred" in values:
        rows = rows.filter(Exists(Star.objects.filter(job=OuterRef("pk"), user=values["starred"])))
    if not archived and "starred" not in values:
        rows = rows.filter(archived_at=None)
    return (rows.open() if under_way else rows).before(values.get("before"))


def offered(user: User) -> list[Act]:
    """The acts on several jobs that the person may ever do."""
    can_extend = gate.site_can(user, Permission.CLUSTER_OPERATE)
    return [act for act in OF_MANY if act is not Act.EXTEND or can_extend]


def gpu_types() -> list[str]:
    """Those of the cluster's partitions."""
    return sorted({name for row in PARTITIONS.all() for name in row.gpu_types})


@login_required
@require_POST
def save_view(request: SignedInRequest) -> HttpResponse:
    """Keep the filters of an address under a name, or take one away."""
    name, query = _word(request.POST.get("name", ""), 60), request.POST.get("query", "")[:500]
    if request.POST.get("remove"):
        SavedView.objects.filter(user=request.user, name=name).delete()
        return redirect("jobs:list")
    kept = QueryDict(query.replace("\x00", ""), mutable=True)
    kept.pop("before", None)
    if name and SavedView.objects.filter(user=request.user).exclude(name=name).count() < SavedView.MOST:
        SavedView.objects.update_or_create(user=request.user, name=name, defaults={"query": kept.urlencode()[:500]})
    return redirect(f"{reverse('jobs:list')}?{kept.urlencode()}")
