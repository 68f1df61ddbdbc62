"""The list of jobs and the cluster page, which shows its jobs."""

from __future__ import annotations

from functools import cache, partial
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Subquery
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from accounts.models import User
from jobs.models import Job, JobQuerySet
from jobs.states import State
from projects.models import Project

PAGE = 50
OF_NODE = 500  # running jobs the cluster page reads at the most


@login_required
@require_safe
def jobs(request: SignedInRequest) -> HttpResponse:
    """Jobs the person may see: own by default, a project's on request; newest first."""
    asked = asked_of(request)
    rows = _rows(request.user, asked)
    context = asked | {
        "jobs": rows[:PAGE],
        "older": rows[PAGE - 1].pk if len(rows) > PAGE else None,
        "states": State.choices,
    }
    return render(request, "jobs/_table.html" if request.htmx else "jobs/list.html", context)


def asked_of(request: SignedInRequest) -> dict[str, Any]:
    """The filters of an address; what is none counts as not given."""
    get = request.GET.get
    whose = get("whose", "mine")
    return {
        "project_code": get("project", "")[:40].replace("\x00", ""),
        "state": get("state") if get("state") in (*State.values, "open") else "",
        "whose": whose if whose in ("mine", "all") else "mine",
        "q": get("q", "")[:64],
        "before": _uuid(get("before", "")),
    }


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _rows(user: User, asked: dict[str, Any]) -> list[Job]:
    """One more than a page."""
    values, under_way = _values(user, asked), asked["state"] == "open"
    if "text" in values:  # it is looked for inside the name: no statement of one shape
        rows = gate.allowing(_narrowed(under_way, **values), user, Permission.JOB_VIEW)
        return list(rows[: PAGE + 1])
    return _listing(frozenset(values), under_way).allowing(user, Permission.JOB_VIEW, **values)


def narrowed_as(user: User, asked: dict[str, Any]) -> JobQuerySet:
    """All the rows of a list so filtered, not yet narrowed to what the person may see."""
    return _narrowed(asked["state"] == "open", **_values(user, asked | {"before": None}))


def _values(user: User, asked: dict[str, Any]) -> dict[str, Any]:
    """What the list is narrowed by."""
    text = asked["q"].replace("\x00", "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0
    values = {
        "owner": user.pk if asked["whose"] == "mine" else None,
        "project": asked["project_code"],
        "state": "" if asked["state"] == "open" else asked["state"],
        "number": number,
        "text": "" if number else text,
        "before": asked["before"],
    }
    return {name: value for name, value in values.items() if value}


@cache
def _listing(_names: frozenset[str], under_way: bool) -> gate.Listing[Job]:
    """The list by these filters, whatever their values."""
    return gate.Listing(partial(_narrowed, under_way), most=PAGE + 1)


def _narrowed(under_way: bool, **values: Any) -> JobQuerySet:
    fields = {"owner": "owner", "state": "state", "number": "slurm_job_id", "text": "name__icontains"}
    rows = Job.objects.lines().filter(**{fields[name]: value for name, value in values.items() if name in fields})
    if "project" in values:
        project = Project.objects.filter(code=values["project"]).values("pk")[:1]
        rows = rows.filter(project=Subquery(project))  # as one value, so that the rows come by their index
    return (rows.open() if under_way else rows).before(values.get("before"))
