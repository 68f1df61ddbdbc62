"""Forms about one dataset: registered, changed, another steward, another version, other terms."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from accounts.http import SignedInRequest
from datasets import refusals
from datasets.forms import DatasetForm, StewardForm, TermsForm, VersionForm
from datasets.models import Dataset, DatasetState, DatasetVersion
from datasets.services import registering, terms, versions
from datasets.views.forming import done_or_said, form_page, tried
from datasets.views.one import fetch
from projects.models import Project

FORM = ["GET", "POST"]


def crumbs(dataset: Dataset | None = None) -> list[tuple[str, str]]:
    """The way to a page of a dataset."""
    way = [(reverse("datasets:list"), _("Datasets"))]
    return [*way, (reverse("datasets:detail", args=[dataset.code]), dataset.name)] if dataset else way


@login_required
@require_http_methods(FORM)
def register(request: SignedInRequest, code: str) -> HttpResponse:
    """A new dataset of a project, as a draft of its steward: by the project's PI, or an administrator."""
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_LEAD, code=code)
    initial = {"steward": request.user.username, "downloads": True, "classification": project.classification}
    form = DatasetForm(request.POST or None, project=project, initial=initial)
    if request.method == "POST":
        row = tried(form, lambda: registering.register(project=project, by=request.user, **form.cleaned_data))
        if row:
            messages.success(request, _("Registered as a draft. Its data steward completes and approves it."))
            return (
                redirect("datasets:list")
                if not gate.can(row, request.user, Permission.DATASET_VIEW)
                else redirect("datasets:detail", row.code)
            )
    intro = _("It starts as a draft. What is still missing for approval stands on its page.")
    title = _("Register a dataset")
    return form_page(request, form, title=title, act=title, crumbs=crumbs(), intro=intro, project=project)


@login_required
@require_http_methods(FORM)
def edit(request: SignedInRequest, code: str) -> HttpResponse:
    """Its facts, with what is missing for approval."""
    row = fetch(request.user, Permission.DATASET_STEWARD, code)
    form = DatasetForm(request.POST or None, project=row.project, dataset=row)
    if request.method == "POST" and tried(
        form, lambda: registering.change(dataset=row, by=request.user, **form.cleaned_data)
    ):
        messages.success(request, _("Kept."))
        return redirect("datasets:detail", code)
    missing = refusals.named(registering.missing(row)) if row.state == DatasetState.DRAFT else []
    title = _("Change %(name)s") % {"name": row.name}
    return form_page(
        request, form, title=title, act=_("Keep the changes"), crumbs=crumbs(row), missing=missing, project=row.project
    )


@login_required
@require_http_methods(FORM)
def steward(request: SignedInRequest, code: str) -> HttpResponse:
    """Hand it to another steward: by the steward, the owner project's PI, or an administrator."""
    row = fetch(request.user, Permission.DATASET_VIEW, code)
    if not (row.may_steward or row.may_lead):
        row = fetch(request.user, Permission.DATASET_STEWARD, code)
    form = StewardForm(request.POST or None)
    if request.method == "POST" and tried(
        form, lambda: registering.change_steward(dataset=row, by=request.user, **form.cleaned_data)
    ):
        messages.success(request, _("Another person answers for it from now on."))
        return redirect("datasets:list")
    title = _("Another data steward for %(name)s") % {"name": row.name}
    return form_page(request, form, title=title, act=_("Hand it over"), crumbs=crumbs(row), project=row.project)


@login_required
@require_http_methods(FORM)
def add_version(request: SignedInRequest, code: str) -> HttpResponse:
    """Another version."""
    row = fetch(request.user, Permission.DATASET_STEWARD, code)
    form = VersionForm(request.POST or None)
    if request.method == "POST" and tried(
        form, lambda: versions.add(dataset=row, by=request.user, **form.cleaned_data)
    ):
        messages.success(request, _("Added. New jobs that name no version get it."))
        return redirect("datasets:detail", code)
    intro = _("Label and path are never changed afterwards: who names a version gets the same files.")
    title = _("Add a version")
    return form_page(request, form, title=title, act=title, crumbs=crumbs(row), intro=intro, project=row.project)


def version_of(dataset: Any, pk: str) -> DatasetVersion:
    """Raises NotFound."""
    found = DatasetVersion.objects.filter(dataset=dataset, pk=pk).select_related("dataset__project").first()
    if found is None:
        raise NotFound(Permission.DATASET_STEWARD, "datasets.datasetversion", {"pk": pk})
    return found


@login_required
@require_POST
def withdraw_version(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """No new job uses it."""
    version = version_of(fetch(request.user, Permission.DATASET_STEWARD, code), pk)
    act = partial(versions.withdraw, version=version, by=request.user)
    return done_or_said(request, act, _("Withdrawn. No new job uses it."), "datasets:detail", code)


@login_required
@require_http_methods(FORM)
def new_terms(request: SignedInRequest, code: str) -> HttpResponse:
    """Put other terms in force."""
    row = fetch(request.user, Permission.DATASET_STEWARD, code)
    now = terms.in_force(row)
    form = TermsForm(request.POST or None, initial={"text": now.text if now else ""})
    if request.method == "POST" and tried(
        form, lambda: terms.put_in_force(dataset=row, by=request.user, text=form.cleaned_data["text"])
    ):
        messages.success(request, _("In force. Everybody accepts them before their next job."))
        return redirect("datasets:detail", code)
    title = _("Terms of use of %(name)s") % {"name": row.name}
    return form_page(request, form, title=title, act=_("Put in force"), crumbs=crumbs(row), project=row.project)
