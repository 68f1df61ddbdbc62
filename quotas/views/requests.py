"""Asking for an allocation, for more or for longer; talking about it; withdrawing it. The decision is in jobs.views."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from accounts.http import SignedInRequest
from audit import trail
from audit.actions import Action
from projects import refusals, tables
from projects.models import Project, ProjectRequest, Request
from quotas import asking, panels, wishes, words
from quotas.forms import CommentForm, DecisionForm, RequestForm, blame
from quotas.models import Allocation, AllocationRequest, Kind
from quotas.services import requests
from quotas.views.one import rights

AMOUNTS = AllocationRequest.AMOUNTS


@login_required
@require_http_methods(["GET", "POST"])
def ask(request: SignedInRequest, code: str) -> HttpResponse:
    """The form, filled in with what was measured."""
    project = gate.fetch(Project.objects, request.user, Permission.ALLOCATION_REQUEST, code=code)
    lines = [line for line in panels.of_project(project, request.user) if line.allocation.closed_at is None]
    get = (request.POST or request.GET).get
    initial = asking.initial(lines, get("allocation", ""), get("kind", ""))
    known = [line.allocation for line in lines]
    form = RequestForm(request.POST or None, initial=initial, allocations=known, project=project)
    if request.method == "POST" and form.is_valid():
        try:
            row = requests.ask(project=project, by=request.user, **form.gathered())
        except ValidationError as error:
            blame(form, error)
        else:
            messages.success(request, _("Asked for. A cluster administrator looks at it; the answer stands here."))
            return redirect("allocations:request", code, row.pk)
    context = {"form": form, "project": project, "lines": lines} | _present(form, lines)
    return render(request, "quotas/ask.html", context, status=422 if form.is_bound else 200)


def _present(form: RequestForm, lines: Sequence[panels.Panel]) -> dict[str, Any]:
    """What the amounts typed are the larger ones of, and what it gives; nothing of a new allocation."""
    line = asking.chosen(lines, str(form["allocation"].value() or ""))
    if line is None or form["kind"].value() == Kind.NEW:
        return {"now": None}
    row = line.allocation
    present = wishes.lines(AllocationRequest(project=row.project, allocation=row), form.types)
    return {"now": row, "present": [one for one in present if one.now not in ("", words.amount(one.field, None))]}


def fetch(request: SignedInRequest, permission: Permission, code: str, pk: UUID) -> Any:
    """With `may_ask` and `may_operate`. Raises NotFound, Refused."""
    names = ("project", "allocation", "funding", "asked_by", "decided_by")
    may = rights(request.user, may_ask=Permission.ALLOCATION_REQUEST, may_operate=Permission.PROJECT_MANAGE)
    rows = AllocationRequest.objects.select_related(*names).annotate(**may)
    return gate.fetch(rows, request.user, permission, project__code=code, pk=pk)


@login_required
@require_GET
def one(request: SignedInRequest, code: str, pk: UUID) -> HttpResponse:
    """A request with all that was said."""
    return page(request, fetch(request, Permission.TRAIL_READ, code, pk))


def page(
    request: SignedInRequest, row: Any, form: CommentForm | None = None,
    decision: DecisionForm | None = None, *, status: int = 200,
) -> HttpResponse:  # fmt: skip
    """The page of a request read by `fetch`, with a form as somebody sent it where that was not possible."""
    lines = panels.panels(Allocation.objects.filter(pk=row.allocation_id)) if row.allocation_id else []
    context: dict[str, Any] = {
        "one": row, "project": row.project, "line": lines[0] if lines else None, "asked": wishes.asked(row),
        "comments": row.comments.select_related("by"), "form": form or CommentForm(),
        "decision": decision or DecisionForm(asked=row), "may_decide": row.may_operate and row.is_open,
        "may_withdraw": row.may_ask and row.is_open, "may_comment": row.may_operate or row.may_ask,
    }  # fmt: skip
    return render(request, "quotas/request.html", context, status=status)


@login_required
@require_POST
def comment(request: SignedInRequest, code: str, pk: UUID) -> HttpResponse:
    """Say something: the project's PI and managers, and cluster administrators."""
    site = gate.site_can(request.user, Permission.PROJECT_MANAGE)
    row = fetch(request, Permission.PROJECT_MANAGE if site else Permission.ALLOCATION_REQUEST, code, pk)
    form = CommentForm(request.POST)
    if not form.is_valid():
        return page(request, row, form, status=422)
    requests.comment(request=row, by=request.user, text=form.cleaned_data["text"])
    return redirect("allocations:request", code, pk)


@login_required
@require_POST
def withdraw(request: SignedInRequest, code: str, pk: UUID) -> HttpResponse:
    """The project needs it no more."""
    row = fetch(request, Permission.ALLOCATION_REQUEST, code, pk)
    try:
        requests.withdraw(request=row, by=request.user)
        messages.success(request, _("Taken back."))
    except refusals.REFUSALS as error:
        messages.error(request, str(refusals.of(error).words))
    return redirect("allocations:request", code, pk)


@login_required
@require_GET
def requests_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """Every request for a project or an allocation, decided or not, as a row; that somebody took them is recorded."""
    if not gate.site_can(request.user, Permission.PROJECT_MANAGE):
        raise NotFound(Permission.PROJECT_MANAGE, "quotas.allocationrequest", {})
    trail.record(Action.REPORT_READ, by=request.user, table="requests")
    head = [
        _("project"), _("what"), _("title"), _("allocation"), *(str(words.LIMITS[name]) for name in AMOUNTS), _("from"),
        _("until"), _("asked by"), _("asked at"), _("justification"), _("state"), _("decided by"), _("decided at"),
        _("answer"),
    ]  # fmt: skip
    rows = itertools.chain(map(_project_cells, _all(ProjectRequest)), map(_allocation_cells, _all(AllocationRequest)))
    return tables.of_today("requests", head, rows)


def _all(model: Any) -> Iterator[Any]:
    names = [name for name in ("project", "allocation", "asked_by", "decided_by") if hasattr(model, name)]
    rows: Iterator[Any] = model.objects.select_related(*names).order_by("-asked_at").iterator(chunk_size=500)
    return rows


def _project_cells(row: ProjectRequest) -> list[Any]:
    return [row.code, _("a project"), row.title, "", *("" for _name in AMOUNTS), "", "", *_talk(row)]


def _allocation_cells(row: AllocationRequest) -> list[Any]:
    of = row.allocation.title if row.allocation else ""
    wanted = [words.cell(name, _wanted(row, name)) for name in AMOUNTS]
    return [row.project.code, row.get_kind_display(), row.title, of, *wanted, row.starts_on, row.ends_on, *_talk(row)]


def _wanted(row: AllocationRequest, name: str) -> Any:
    """What is asked for, with “no limit” where that is."""
    without = [one for one in row.no_limit if one.partition("__")[0] == name]
    value = getattr(row, name)
    if not without:
        return value
    free = {one.partition("__")[2]: _("no limit") for one in without}
    return free[""] if "" in free else value | free


def _talk(row: Request) -> list[Any]:
    decided = row.decided_by.name if row.decided_by else ""
    return [
        row.asked_by.name, row.asked_at.isoformat(timespec="seconds"), row.why, row.get_state_display(), decided,
        row.decided_at.isoformat(timespec="seconds") if row.decided_at else "", row.answer,
    ]  # fmt: skip
