"""An operator opens, changes, archives and reopens projects and answers who asks for one; a PI lets theirs be found."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from accounts import admission
from accounts.http import SignedInRequest
from accounts.models import User
from projects import refusals, searching, services
from projects.forms import AnswerForm, OpenForm, ProjectForm
from projects.models import Project, ProjectRequest


def operator(request: SignedInRequest) -> None:
    """Raises NotFound for everybody else: these pages are nobody's in particular."""
    if not gate.site_can(request.user, Permission.PROJECT_MANAGE):
        raise NotFound(Permission.PROJECT_MANAGE, "projects.project", {})


def blame(form: Form | OpenForm | ProjectForm, error: ValidationError) -> None:
    """The service's words beside the fields they speak of; the Slurm account is the code."""
    said = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
    for name, words in said.items():
        field = "code" if name == "slurm_account" else name
        if field not in form.fields:
            form.add_error(None, " ".join(words))
        elif field not in form.errors:
            form.add_error(field, words)


@login_required
@require_http_methods(["GET", "POST"])
def open_project(request: SignedInRequest) -> HttpResponse:
    """The form, filled in from a request where one is answered; without scripts it searches for the PI itself."""
    operator(request)
    asked = _asked(request)
    if request.method == "POST" and "find" not in request.POST:
        form = OpenForm(request.POST)
        project = _open(request, form, asked) if form.is_valid() else None
        if project is not None:
            messages.success(request, _("Open. The portal makes it known to Slurm; the ticks say how far it is."))
            return redirect("projects:detail", project.code)
    else:
        form = OpenForm(initial=request.POST.dict() | _lists(request) if request.POST else _initial(asked))
    context = _opening(request, form, asked)
    return render(request, "projects/open.html", context, status=422 if form.is_bound else 200)


def _asked(request: SignedInRequest) -> ProjectRequest | None:
    """The request that is answered, if any. Raises NotFound where it is none."""
    pk = (request.POST if request.method == "POST" else request.GET).get("request", "")
    if not pk:
        return None
    try:
        return ProjectRequest.objects.select_related("asked_by").get(pk=pk)
    except (ProjectRequest.DoesNotExist, ValidationError):
        raise NotFound(Permission.PROJECT_MANAGE, "projects.projectrequest", {"pk": pk}) from None


def _lists(request: SignedInRequest) -> dict[str, Any]:
    return {"partitions": request.POST.getlist("partitions")}


def _initial(asked: ProjectRequest | None) -> dict[str, Any]:
    if asked is None:
        return {}
    return {
        "code": asked.code, "title": asked.title, "organization": asked.organization,
        "classification": asked.classification, "pi": asked.asked_by.directory_id, "unix_group": asked.code,
    }  # fmt: skip


def _opening(request: SignedInRequest, form: OpenForm, asked: ProjectRequest | None) -> dict[str, Any]:
    words = request.POST.get("q", "")
    chosen = User.objects.filter(directory_id=form["pi"].value()).first() if _is_uuid(form["pi"].value()) else None
    return {
        "form": form,
        "asked": asked,
        "chosen": chosen,
        "answer": searching.answer(words, by=request.user),
        "field": "pi",
    }


def _is_uuid(value: object) -> bool:
    try:
        UUID(str(value))
    except ValueError:
        return False
    return True


def _open(request: SignedInRequest, form: OpenForm, asked: ProjectRequest | None) -> Project | None:
    fields = dict(form.cleaned_data)
    try:
        pi = admission.person_by_id(fields.pop("pi"))
        return services.open_for(
            pi=pi, by=request.user, request=asked, answer=request.POST.get("answer", "")[:4000],
            slurm_account=fields["code"], **fields,
        )  # fmt: skip
    except ValidationError as error:
        blame(form, error)
    except refusals.REFUSALS as error:
        refusal = refusals.of(error)
        form.add_error("pi" if refusal.field == "person" else None, str(refusal.words))
    return None


@login_required
@require_GET
def people(request: SignedInRequest) -> HttpResponse:
    """Part of the form: people of the directory who might be the PI."""
    operator(request)
    found = searching.answer(request.GET.get("q", ""), by=request.user)
    return render(request, "projects/_found.html", {"answer": found, "field": "pi"})


@login_required
@require_POST
def refuse(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """No project, with words that whoever asked reads."""
    operator(request)
    row = ProjectRequest.objects.filter(pk=pk).first()
    if row is None:
        raise NotFound(Permission.PROJECT_MANAGE, "projects.projectrequest", {"pk": pk})
    form = AnswerForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Write a few words: whoever asked reads them."))
        return redirect("operate:requests")
    try:
        services.refuse_project(request=row, by=request.user, answer=form.cleaned_data["answer"])
        messages.success(request, _("Answered. Whoever asked sees your words."))
    except refusals.REFUSALS as error:
        messages.error(request, str(refusals.of(error).words))
    return redirect("operate:requests")


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: SignedInRequest, code: str) -> HttpResponse:
    """Change a project."""
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_MANAGE, code=code)
    form = ProjectForm(request.POST or None, instance=project)
    if request.method == "POST" and form.is_valid():
        try:
            services.change_project(project=project, by=request.user, **form.cleaned_data)
        except ValidationError as error:
            blame(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("projects:detail", code)
    context = {"form": form, "project": project}
    return render(request, "projects/edit.html", context, status=422 if form.is_bound else 200)


@login_required
@require_POST
def listing(request: SignedInRequest, code: str) -> HttpResponse:
    """Whether the project may be found by people who look for one to join."""
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_LEAD, code=code)
    services.change_project(project=project, by=request.user, is_listed=request.POST.get("listed") == "1")
    return redirect("projects:detail", code)


@login_required
@require_http_methods(["GET", "POST"])
def archive(request: SignedInRequest, code: str) -> HttpResponse:
    """Archive a project, or open it again; what that does is said before it is done."""
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_MANAGE, code=code)
    if request.method == "POST":
        why = request.POST.get("why", "")[:300].replace("\x00", "")
        if request.POST.get("act") == "reopen":
            services.reopen_project(project=project, by=request.user, why=why)
            messages.success(request, _("The project is open again."))
        else:
            services.archive_project(project=project, by=request.user, why=why)
            messages.success(request, _("The project is archived."))
        return redirect("projects:detail", code)
    return render(request, "projects/archive.html", {"project": project})
