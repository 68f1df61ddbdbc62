"""The presets a person may use, one of them, and what those who answer for it may change."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from accounts.http import SignedInRequest
from presets import services
from presets.forms import PresetForm, blame
from presets.models import Preset, PresetVersion
from presets.services.applying import ordered
from projects.models import Project

MOST = 500
_ROWS = Preset.objects.select_related("project")


@login_required
@require_GET
def presets(request: SignedInRequest) -> HttpResponse:
    """The site's and those of one's projects; for who may change some, where to make one."""
    theirs = gate.allowing(Preset.objects.all(), request.user, Permission.PROJECT_VIEW)
    rows = Preset.objects.filter(pk__in=theirs.values("pk")).with_newest().select_related("project")
    able = gate.allowing(Project.objects.order_by("title"), request.user, Permission.PRESET_MANAGE)
    context = {
        "rows": ordered(rows[:MOST]),
        "can_all": gate.site_can(request.user, Permission.PRESET_MANAGE),
        "homes": list(able[:50]),
    }
    return render(request, "presets/list.html", context)


@login_required
@require_GET
def preset(request: SignedInRequest, pk: str) -> HttpResponse:
    """What one says of each field, in its newest version or in `?version=`."""
    row = gate.fetch(_ROWS, request.user, Permission.PROJECT_VIEW, pk=pk)
    versions = list(row.versions.select_related("by"))
    wanted = request.GET.get("version", "")
    shown = next((one for one in versions if str(one.number) == wanted), versions[0])
    context = {
        "one": row, "shown": shown, "versions": versions, "newest": versions[0],
        "can_change": gate.can(row, request.user, Permission.PRESET_MANAGE),
    }  # fmt: skip
    return render(request, "presets/detail.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def add(request: SignedInRequest) -> HttpResponse:
    """Another one of the site. Raises NotFound for who makes none."""
    if not gate.site_can(request.user, Permission.PRESET_MANAGE):
        raise NotFound(Permission.PRESET_MANAGE, "presets.preset", {})
    return _new(request, None)


@login_required
@require_http_methods(["GET", "POST"])
def add_to_project(request: SignedInRequest, code: str) -> HttpResponse:
    """Another one of a project."""
    return _new(request, gate.fetch(Project.objects, request.user, Permission.PRESET_MANAGE, code=code))


def _new(request: SignedInRequest, project: Project | None) -> HttpResponse:
    form = PresetForm(request.POST or None)
    made = _kept(form, project=project, by=request.user, is_new=True)
    if made is not None:
        messages.success(request, _("Kept. From now on jobs may name it."))
        return redirect("presets:detail", made.preset_id)
    return _form_page(request, form, title=_("New preset"), project=project)


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: SignedInRequest, pk: str) -> HttpResponse:
    """Its next version."""
    row = gate.fetch(_ROWS, request.user, Permission.PRESET_MANAGE, pk=pk)
    newest: Any = row.versions.first()
    form = PresetForm(request.POST or None, version=newest)
    made = _kept(form, preset=row, by=request.user)
    if made is not None:
        messages.success(request, _("Kept as version %(n)d. Earlier versions stay as they are.") % {"n": made.number})
        return redirect("presets:detail", row.pk)
    title = _("Change %(name)s") % {"name": newest.title}
    return _form_page(request, form, title=title, project=row.project, one=row)


def _kept(form: PresetForm, *, is_new: bool = False, **where: Any) -> PresetVersion | None:
    """The version made; None where the form, or the service, says no: then the form says why."""
    if not form.is_bound or not form.is_valid():
        return None
    facts = {name: form.cleaned_data[name] for name in ("title", "about", "code") if name in form.fields}
    try:
        act = services.add if is_new else services.change
        return act(rules=form.rules(), **facts, **where)
    except services.WrongRules as wrong:
        form.blame(wrong.errors)
    except ValidationError as error:
        blame(form, error)
    return None


def _form_page(request: SignedInRequest, form: PresetForm, **more: Any) -> HttpResponse:
    return render(request, "presets/form.html", {"form": form, **more}, status=422 if form.is_bound else 200)


@login_required
@require_POST
def retire(request: SignedInRequest, pk: str) -> HttpResponse:
    """No new job names it."""
    row = gate.fetch(_ROWS, request.user, Permission.PRESET_MANAGE, pk=pk)
    services.retire(preset=row, by=request.user)
    messages.success(request, _("Retired. Jobs that named it stay as they are."))
    return redirect("presets:detail", row.pk)


@login_required
@require_POST
def offer(request: SignedInRequest, pk: str) -> HttpResponse:
    """New jobs may name it again."""
    row = gate.fetch(_ROWS, request.user, Permission.PRESET_MANAGE, pk=pk)
    services.offer_again(preset=row, by=request.user)
    messages.success(request, _("Offered again."))
    return redirect("presets:detail", row.pk)
