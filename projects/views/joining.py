"""Asking to join a project, taking it back, and the answer of its PI or a manager."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from accounts.http import SignedInRequest
from projects import reads, refusals, services
from projects.forms import AnswerForm, JoinForm, LetInForm
from projects.models import JoinRequest, Project


def joinable(request: SignedInRequest, code: str) -> Project:
    """A project that allows being found. Raises NotFound for any other, as for one that is not there."""
    row = reads.joinable().annotate(pis=reads.pis_of()).filter(code=code).first()
    if row is None:
        raise NotFound(Permission.PROJECT_VIEW, "projects.project", {"code": code})
    return row


@login_required
@require_http_methods(["GET", "POST"])
def join(request: SignedInRequest, code: str) -> HttpResponse:
    """Ask to be let in."""
    project = joinable(request, code)
    form = JoinForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            services.ask_to_join(project=project, by=request.user, why=form.cleaned_data["why"])
        except refusals.REFUSALS as error:
            form.add_error(None, str(refusals.of(error).words))
        except ValidationError as error:
            form.add_error(None, error.messages[0])
        else:
            messages.success(request, _("Asked for. The PI or a manager answers; you see it here."))
            return redirect("projects:list")
    context = {"asked_project": project, "form": form}
    return render(request, "projects/join.html", context, status=422 if form.is_bound else 200)


@login_required
@require_POST
def withdraw(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """Take back what I asked for."""
    row = reads.own_request(request.user, pk)
    if row is None:
        raise NotFound(Permission.PROJECT_VIEW, "projects.request", {"pk": pk})
    try:
        services.withdraw(request=row)
        messages.success(request, _("Taken back."))
    except refusals.REFUSALS as error:
        messages.error(request, str(refusals.of(error).words))
    return redirect("projects:list")


def asked_of(request: SignedInRequest, code: str, pk: UUID) -> JoinRequest:
    """A request to join that this person may answer. Raises NotFound or Refused."""
    project = gate.fetch(Project.objects, request.user, Permission.MEMBER_MANAGE, code=code)
    rows = JoinRequest.objects.select_related("project", "asked_by")
    return gate.fetch(rows, request.user, Permission.MEMBER_MANAGE, pk=pk, project=project)


@login_required
@require_POST
def let_in(request: SignedInRequest, code: str, pk: UUID) -> HttpResponse:
    """Yes, with a role."""
    row = asked_of(request, code, pk)
    form = LetInForm(request.POST, with_pi=True)
    if not form.is_valid():
        messages.error(request, _("Choose a role from the list."))
        return redirect("projects:detail", code)
    try:
        services.let_in(request=row, role=form.cleaned_data["role"], by=request.user)
        messages.success(request, _("%(name)s is in the project now.") % {"name": row.asked_by.name})
    except refusals.REFUSALS as error:
        messages.error(request, str(refusals.of(error).words))
    return redirect("projects:detail", code)


@login_required
@require_POST
def turn_away(request: SignedInRequest, code: str, pk: UUID) -> HttpResponse:
    """No, with words that whoever asked reads."""
    row = asked_of(request, code, pk)
    form = AnswerForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Write a few words: whoever asked reads them."))
        return redirect("projects:detail", code)
    try:
        services.turn_away(request=row, by=request.user, answer=form.cleaned_data["answer"])
        messages.success(request, _("Answered. %(name)s sees your words.") % {"name": row.asked_by.name})
    except refusals.REFUSALS as error:
        messages.error(request, str(refusals.of(error).words))
    return redirect("projects:detail", code)
