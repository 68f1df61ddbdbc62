"""Exports of the trail: the list, asking for one, how far it is, and its file, in whole or in part."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from audit import sending, trail
from audit.actions import Action
from audit.forms import ExportForm
from audit.models import Export
from audit.models.export import Form, State
from audit.services import scope, unseen
from audit.services.exporting import NothingSealed
from audit.services.exports import asking, making
from audit.services.wanted import Wanted

PAGE = 50


@login_required
@require_safe
def exports(request: HttpRequest) -> HttpResponse:
    """All of them, for whoever reads the whole trail; a guest auditor's own."""
    scope.readable_by(request.user)
    return listed(request)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_export(request: HttpRequest) -> HttpResponseBase:
    """Ask for one; a small one comes at once. A guest auditor's has the events of the scope given and no other."""
    return asked(request, may=scope.readable_by(request.user))


@login_required
@require_safe
def export(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One of them, and how far it is."""
    scope.readable_by(request.user)
    return shown(request, pk)


@login_required
@require_safe
def download(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """Its file."""
    scope.readable_by(request.user)
    return sent(request, pk)


def listed(request: HttpRequest, *, project: Any = None) -> HttpResponse:
    """The newest, of the site or of a project."""
    rows = list(_theirs(request, project)[:PAGE])
    people = get_user_model()._default_manager.in_bulk({row.asked_by_id for row in rows if row.asked_by_id})
    for row in rows:
        row.asker = people.get(row.asked_by_id or 0)
    return render(request, "audit/exports.html", _frame(request, project) | {"rows": rows, "gaps": unseen.gaps()})


def asked(request: HttpRequest, *, project: Any = None, may: scope.Scope | None = None) -> HttpResponseBase:
    """The form, filled from what was seen on the page of the trail; a part of it says how much it will be.

    Of a project's trail, or of what `may` be read of the whole.
    """
    whole = gate.site_can(request.user, Permission.TRAIL_READ)
    form = ExportForm(request.POST or request.GET or None, whole=whole, within=project is not None)
    if request.method == "POST" and form.is_valid():
        return _made(request, form, project, may, whole=whole)
    context = _frame(request, project) | {"form": form, "at_once": asking.AT_ONCE} | _much(form, project, may)
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "audit/_estimate.html", context)
    if request.method != "POST":
        form = ExportForm(initial=_initial(request), whole=whole, within=project is not None)
    bad = 422 if request.method == "POST" else 200
    return render(request, "audit/export_form.html", context | {"form": form, "gaps": unseen.gaps()}, status=bad)


def _initial(request: HttpRequest) -> dict[str, Any]:
    found = {name: value for name, value in request.GET.items() if value}
    return found | {"form": found.get("form") if found.get("form") in Form.values else Form.JSONL}


def _much(form: ExportForm, project: Any, may: scope.Scope | None) -> dict[str, Any]:
    """How many events fit, how many records the range has."""
    if not form.is_bound:
        form = ExportForm({"form": Form.JSONL}, whole=True, within=project is not None)
    if not form.is_valid() and set(form.errors) - {"form"}:
        return {}
    wanted = _wanted(form, project, may)
    try:
        first, last = asking.covering(wanted)
    except NothingSealed:
        return {"nothing": True}
    number, counted = asking.estimate(wanted)
    return {"number": number, "counted": counted, "range": last.seq - first, "last": last}


def _wanted(form: ExportForm, project: Any, may: scope.Scope | None) -> Wanted:
    return asking.wanted_of(
        form.search(), project_id=project.pk if project else None, scope=may.parts() if may else None
    )


def _made(
    request: HttpRequest, form: ExportForm, project: Any, may: scope.Scope | None, *, whole: bool
) -> HttpResponseBase:
    wanted = _wanted(form, project, may)
    try:
        row = asking.ask(
            form=Form(form.cleaned_data["form"]), wanted=wanted, by=request.user, project=project, whole=whole
        )
    except NothingSealed:
        form.add_error(None, _("Nothing is sealed yet: try it again in a minute."))
    except asking.TooManyOpen as error:
        form.add_error(None, _("%(n)d exports of yours are under way; wait for one to end.") % {"n": error.args[0]})
    else:
        if row.state == State.STREAMED:
            return sending.streamed(row, making.streamed(row, by=request.user, project=project))
        return redirect(_address("export", project, row.pk))
    context = _frame(request, project) | {"form": form, "gaps": unseen.gaps()}
    return render(request, "audit/export_form.html", context, status=422)


def shown(request: HttpRequest, pk: UUID, *, project: Any = None) -> HttpResponse:
    """The page of one; while it is made, a part of it is asked for again."""
    row = found(request.user, pk, project)
    context = _frame(request, project) | {"export": row, "download": _address("download", project, row.pk),
                                 "again": _address("export", project, row.pk)}  # fmt: skip
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "audit/_export.html", context)
    people = get_user_model()._default_manager.in_bulk({row.asked_by_id or 0, *row.wanted.get("people", [])})
    context |= {"asker": people.get(row.asked_by_id or 0), "filter": _in_words(row, people), "gaps": unseen.gaps()}
    return render(request, "audit/export.html", context)


def _in_words(row: Export, people: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """The filter as it was asked for; numbers where no name is known here."""
    labels = {name: field.label for name, field in ExportForm.base_fields.items()}
    labels |= {"people": labels["who"], "projects": labels["project"], "datasets": labels["dataset"],
               "addresses": labels["address"]}  # fmt: skip
    said = row.asked_for
    if "people" in said:
        said["people"] = [people[number].get_username() if number in people else number for number in said["people"]]
    for name in ("people", "projects", "datasets", "addresses"):
        if name in said:
            said[name] = ", ".join(map(str, said[name])) or "–"
    for name in ("since", "until"):
        if name in said:
            said[name] = timezone.localtime(datetime.fromisoformat(said[name])).strftime("%Y-%m-%d %H:%M")
    parts = [(_("Guest auditor's scope"), _scope_in_words(part)) for part in said.pop("scope", [])]
    return [*parts, *((labels[name], value) for name, value in said.items() if name != "project_id")]


def _scope_in_words(part: dict[str, Any]) -> str:
    days = [
        timezone.localtime(datetime.fromisoformat(part[name])).strftime("%Y-%m-%d %H:%M") if name in part else ""
        for name in ("since", "until")
    ]
    words = [*part["project_codes"], *part.get("dataset_codes", [])]
    return ", ".join([*words, *([" – ".join(days)] if any(days) else [])])


def sent(request: HttpRequest, pk: UUID, *, project: Any = None) -> HttpResponseBase:
    """The file, or the part of it that is asked for; each time is an event."""
    row = found(request.user, pk, project)
    if not row.is_there:
        raise NotFound(Permission.TRAIL_READ, "audit.export", {"pk": str(pk)})
    answer, first = sending.file(request, row)
    if answer.status_code in (200, 206):
        trail.record(
            Action.EXPORT_FETCHED, by=request.user, about=row, project=project, form=row.form, digest=row.digest,
            first_byte=first,
        )  # fmt: skip
    return answer


def found(user: Any, pk: UUID, project: Any = None) -> Export:
    """One that the person may see. Raises NotFound."""
    row = visible(user, project).filter(pk=pk).select_related("checkpoint").first()
    if row is None:
        raise NotFound(Permission.TRAIL_READ, "audit.export", {"pk": str(pk)})
    return row


def visible(user: Any, project: Any = None) -> Any:
    """Exports of the site or of a project; one that shows addresses is for those who read the whole trail."""
    if project is None:
        return scope.readable_by(user).exports(user)
    rows = Export.objects.of(project.pk)
    return rows if gate.site_can(user, Permission.TRAIL_READ) else rows.filter(whole=False)


def _theirs(request: HttpRequest, project: Any) -> Any:
    before = request.GET.get("before", "")
    rows = visible(request.user, project)
    try:
        return rows.filter(pk__lt=UUID(before)) if before else rows
    except ValueError:
        return rows


def _frame(request: HttpRequest, project: Any) -> dict[str, Any]:
    """Addresses of the pages, on the site or within the project."""
    whole = project is None and gate.site_can(request.user, Permission.TRAIL_READ)
    return {
        "project_row": project, "whole": whole, "guest": project is None and not whole,
        "list_url": _address("exports", project), "new_url": _address("new_export", project),
        "trail_url": reverse("projects:trail", args=[project.code]) if project else reverse("audit:list"),
    }  # fmt: skip


def _address(name: str, project: Any, *args: Any) -> str:
    if project is None:
        return reverse(f"audit:{name}", args=args)
    return reverse(f"projects:trail_{name}", args=[project.code, *args])
