"""Permissions to use: asking, the decision, its end; and reading and accepting the terms."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from access import gate
from access.errors import NotFound
from access.numbers import whole
from access.permissions import Permission
from accounts.http import SignedInRequest
from accounts.models import User
from datasets.forms import AskForm
from datasets.models import Grant, GrantRequest
from datasets.services import asking, terms
from datasets.views.forming import done_or_said, form_page, tried
from datasets.views.one import fetch
from datasets.views.writing import FORM, crumbs
from projects.models import Membership, Project


def may_ask_for(user: User) -> list[Project]:
    """Projects the person may ask for: those whose members they manage."""
    mine = Membership.objects.active().filter(user=user).values("project")
    return list(gate.allowing(Project.objects.filter(pk__in=mine), user, Permission.MEMBER_MANAGE))


@login_required
@require_http_methods(FORM)
def ask(request: SignedInRequest, code: str) -> HttpResponse:
    """What the dataset is, and the form that asks for a permission."""
    row = fetch(request.user, Permission.DATASET_FIND, code)
    form = AskForm(request.POST or None, projects=may_ask_for(request.user))
    if request.method == "POST" and tried(form, lambda: asking.ask(dataset=row, by=request.user, **form.facts)):
        messages.success(request, _("Asked for. Its data steward decides; you see the answer here."))
        return redirect("datasets:detail" if row.may_view else "datasets:list", *([code] if row.may_view else []))
    title = _("Ask for %(name)s") % {"name": row.name}
    return form_page(
        request, form, title=title, act=_("Ask for a permission to use it"), one=row, aside="datasets/_about.html",
        crumbs=crumbs(row) if row.may_view else crumbs(),
    )  # fmt: skip


def _request(dataset: Any, pk: str) -> GrantRequest:
    rows = GrantRequest.objects.filter(dataset=dataset, pk=pk).select_related("dataset", "project", "user", "asked_by")
    found = rows.first()
    if found is None:
        raise NotFound(Permission.DATASET_STEWARD, "datasets.grantrequest", {"pk": pk})
    return found


@login_required
@require_POST
def decide(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """Give it, perhaps for a shorter time, or turn it down with words."""
    wish = _request(fetch(request.user, Permission.DATASET_STEWARD, code), pk)
    answer = request.POST.get("answer", "").replace("\x00", "").strip()[:4000]
    if request.POST.get("act") == "give":
        until = _day(request.POST.get("ends_on", ""))
        act = partial(asking.approve, request=wish, by=request.user, answer=answer, ends_on=until)
        return done_or_said(request, act, _("Given. New jobs may use it."), "datasets:detail", code)
    if not answer:
        messages.error(request, _("Say why: whoever asked reads it."))
        return redirect("datasets:detail", code)
    act_no = partial(asking.refuse, request=wish, by=request.user, answer=answer)
    return done_or_said(request, act_no, _("Turned down."), "datasets:detail", code)


def _day(typed: str) -> Any:
    try:
        return parse_date(typed)
    except ValueError:
        return None


@login_required
@require_POST
def withdraw(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """Whoever asked takes it back."""
    row = fetch(request.user, Permission.DATASET_FIND, code)
    wish = _request(row, pk)
    if wish.asked_by_id != request.user.pk:
        raise NotFound(Permission.DATASET_FIND, "datasets.grantrequest", {"pk": pk})
    act = partial(asking.withdraw, request=wish, by=request.user)
    to = ("datasets:detail", code) if row.may_view else ("datasets:list",)
    return done_or_said(request, act, _("Taken back."), *to)


@login_required
@require_POST
def revoke(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """Over at once for new jobs; running ones show it."""
    row = fetch(request.user, Permission.DATASET_STEWARD, code)
    grant = Grant.objects.filter(dataset=row, pk=pk).first()
    if grant is None:
        raise NotFound(Permission.DATASET_STEWARD, "datasets.grant", {"pk": pk})
    why = request.POST.get("why", "").replace("\x00", "").strip()
    if not why:
        messages.error(request, _("Say why: those who used it read it."))
        return redirect("datasets:detail", code)
    act = partial(asking.revoke, grant=grant, by=request.user, why=why)
    return done_or_said(request, act, _("Revoked. The next job that declares it is refused."), "datasets:detail", code)


@login_required
@require_http_methods(FORM)
def accept(request: SignedInRequest, code: str) -> HttpResponse:
    """Read the terms in force; accept them."""
    row = fetch(request.user, Permission.DATASET_FIND, code)
    now = terms.in_force(row)
    if now is None:
        raise NotFound(Permission.DATASET_FIND, "datasets.terms", {"code": code})
    if request.method == "POST":
        number = whole(request.POST.get("number", ""), digits=8) or 0
        act = partial(terms.accept, dataset=row, number=number, by=request.user)
        return done_or_said(request, act, _("Accepted."), "datasets:terms", code)
    context = {"one": row, "terms": now, "crumbs": crumbs(row) if row.may_view else crumbs()}
    return render(request, "datasets/terms.html", context)
