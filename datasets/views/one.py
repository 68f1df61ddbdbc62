"""One dataset: its page for whoever may see it, and its steward's acts of one button."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from accounts.models import User
from datasets import refusals, reports
from datasets.models import Acceptance, Dataset, DatasetUse, GrantRequest, Terms
from datasets.reads import own
from datasets.services import registering
from datasets.views.forming import done_or_said
from projects.models import Project, RequestState

MOST = 50  # lines of a table on the page; the rest is in its CSV


RIGHTS = {  # what the page asks of the reader, and on which row
    "may_view": (Dataset, Permission.DATASET_VIEW),
    "may_steward": (Dataset, Permission.DATASET_STEWARD),
    "may_lead": (Project, Permission.PROJECT_LEAD),
    "may_audit": (Project, Permission.TRAIL_READ),
}


def _shown(code: str, reader: int, at: datetime) -> QuerySet[Dataset]:
    """With what the reader holds at this moment by memberships, and how they stand to the terms in force."""
    key = {Dataset: OuterRef("pk"), Project: OuterRef("project")}
    held = {
        name: Exists(model._default_manager.filter(gate.allowed(model, reader, needed, at), pk=key[model]))
        for name, (model, needed) in RIGHTS.items()
    }
    latest = Terms.objects.filter(dataset=OuterRef("pk")).order_by("-number")
    accepted = Acceptance.objects.filter(terms=Subquery(latest_of_outer()), user=reader)
    rows = Dataset.objects.filter(code=code).select_related("project", "steward", "agreement")
    return rows.annotate(**held, terms_number=Subquery(latest.values("number")[:1]), has_accepted=Exists(accepted))


SHOWN = gate.Listing(_shown, most=1)


def fetch(user: User, permission: Permission, code: str) -> Any:
    """With what the person may do (`may_steward`, `may_lead`, `sees_all`) and how they stand to the terms in force
    (`terms_number`, `has_accepted`). Raises NotFound, Refused."""
    row: Any = SHOWN.fetch(user, permission, {"reader": user.pk, "at": timezone.now()}, code=code)
    for name, (_model, needed) in RIGHTS.items():
        setattr(row, name, getattr(row, name) or gate.site_can(user, needed))
    row.sees_all = row.may_steward or row.may_audit
    return row


def latest_of_outer() -> QuerySet[Any]:
    """The terms in force of the dataset two queries further out."""
    rows = Terms.objects.filter(dataset=OuterRef(OuterRef("pk"))).order_by("-number")
    return rows.values("pk")[:1]


@login_required
@require_GET
def detail(request: SignedInRequest, code: str) -> HttpResponse:
    """What it is, who may use it and who did: all of it for its steward and who answers for its project, else what is
    the reader's own and their projects'."""
    row = fetch(request.user, Permission.DATASET_VIEW, code)
    states = list(row.versions.select_related("by"))
    usable = any(one.withdrawn_at is None for one in states)
    missing = registering.lacking(row, has_terms=row.terms_number is not None, has_version=usable)
    asked = _asked(row, request.user)
    context = {
        "one": row, "project": row.project, "missing": refusals.named(missing),
        "versions": states,
        "grants": [wish.grant for wish in asked if not wish.is_open][:MOST],
        "requests": [wish for wish in reversed(asked) if wish.is_open],
        "uses": list(_uses(row, request.user)[:MOST]),
    }  # fmt: skip
    return render(request, "datasets/detail.html", context)


def _uses(row: Any, user: User) -> QuerySet[DatasetUse]:
    rows = DatasetUse.objects.filter(dataset=row)
    return (rows if row.sees_all else own(rows, user)).select_related("project", "user", "version")


def _asked(row: Any, user: User) -> list[Any]:
    """Open requests, and those that became permissions, the newest first: one query for both."""
    rows = GrantRequest.objects.filter(dataset=row, state__in=(RequestState.OPEN, RequestState.APPROVED))
    names = ("project", "user", "asked_by", "grant__project", "grant__user")
    found: list[Any] = list((rows if row.sees_all else own(rows, user)).select_related(*names))
    for wish in found:
        wish.dataset = row  # at hand: the page does not ask for it again
    return found


@login_required
@require_GET
def uses_csv(request: SignedInRequest, code: str) -> StreamingHttpResponse:
    """All uses, for the owner of the data; that somebody took them is recorded."""
    row = fetch(request.user, Permission.DATASET_VIEW, code)
    rows = _uses(row, request.user)
    return reports.uses_csv(rows, by=request.user, name=row.code, about=row, project=row.project)


@login_required
@require_GET
def permissions_csv(request: SignedInRequest, code: str) -> StreamingHttpResponse:
    """The permissions that the page shows, all of them; that somebody took them is recorded."""
    row = fetch(request.user, Permission.DATASET_VIEW, code)
    given = [wish.grant for wish in _asked(row, request.user) if not wish.is_open]
    return reports.permissions_csv(given, by=request.user, one=row)


@login_required
@require_GET
def versions_csv(request: SignedInRequest, code: str) -> StreamingHttpResponse:
    """The states of the data; that somebody took them is recorded."""
    row = fetch(request.user, Permission.DATASET_VIEW, code)
    return reports.versions_csv(row.versions.all(), by=request.user, one=row)


@login_required
@require_POST
def approve(request: SignedInRequest, code: str) -> HttpResponse:
    """Open it for requests."""
    row = fetch(request.user, Permission.DATASET_STEWARD, code)
    done = _("Approved. It may be asked for and used from now on.")
    act = partial(registering.approve, dataset=row, by=request.user)
    return done_or_said(request, act, done, "datasets:detail", code)


@login_required
@require_POST
def retire(request: SignedInRequest, code: str) -> HttpResponse:
    """No new use."""
    row = fetch(request.user, Permission.DATASET_STEWARD, code)
    act = partial(registering.retire, dataset=row, by=request.user)
    return done_or_said(request, act, _("Retired. No new job uses it."), "datasets:detail", code)
