"""The register of security incidents: administrators write it, auditors read it."""

from __future__ import annotations

from functools import partial, wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from access import gate
from access.errors import NotFound, Refused
from access.permissions import Permission
from accounts.http import SignedInRequest
from accounts.models import User
from datasets import reports
from datasets.forms import IncidentForm, NoticeForm, incident_initial
from datasets.models import SecurityIncident
from datasets.services import incidents
from datasets.views.forming import done_or_said, form_page, tried
from datasets.views.writing import FORM


def may(user: User, permission: Permission) -> None:
    """To others the register is not there. Raises NotFound, Refused."""
    if not gate.site_can(user, Permission.INCIDENT_VIEW):
        raise NotFound(permission, "datasets.securityincident", {})
    if not gate.site_can(user, permission):
        raise Refused(permission, "datasets.securityincident", {})


def _needs(permission: Permission) -> Any:
    def kept(view: Any) -> Any:
        @wraps(view)
        def checked(request: SignedInRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            may(request.user, permission)
            answer: HttpResponse = view(request, *args, **kwargs)
            return answer

        return checked

    return kept


def fetch(pk: str) -> SecurityIncident:
    """Raises NotFound."""
    found = SecurityIncident.objects.filter(pk=pk).prefetch_related("datasets", "notices__by").first()
    if found is None:
        raise NotFound(Permission.INCIDENT_VIEW, "datasets.securityincident", {"pk": pk})
    return found


def _crumbs(row: SecurityIncident | None = None) -> list[tuple[str, str]]:
    way = [(reverse("incidents:list"), _("Security incidents"))]
    return [*way, (reverse("incidents:one", args=[row.pk]), row.title)] if row else way


@login_required
@require_GET
@_needs(Permission.INCIDENT_VIEW)
def register(request: SignedInRequest) -> HttpResponse:
    """All of them, those still open first."""
    rows = list(SecurityIncident.objects.prefetch_related("datasets", "notices")[:500])
    rows.sort(key=lambda row: row.closed_at is not None)
    context = {"rows": rows, "can_write": gate.site_can(request.user, Permission.INCIDENT_MANAGE)}
    return render(request, "datasets/incidents.html", context)


@login_required
@require_GET
@_needs(Permission.INCIDENT_VIEW)
def register_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """The whole register; that somebody took it is recorded."""
    return reports.incidents_csv(request.user)


@login_required
@require_GET
@_needs(Permission.INCIDENT_VIEW)
def one(request: SignedInRequest, pk: str) -> HttpResponse:
    """One entry with its countdown and notices."""
    row = fetch(pk)
    context = {
        "one": row, "crumbs": _crumbs(), "can_write": gate.site_can(request.user, Permission.INCIDENT_MANAGE),
        "told": any(notice.to == "anpd" for notice in row.notices.all()),
    }  # fmt: skip
    return render(request, "datasets/incident.html", context)


@login_required
@require_http_methods(FORM)
@_needs(Permission.INCIDENT_MANAGE)
def add(request: SignedInRequest) -> HttpResponse:
    """A new entry: the days for the notice run from the moment it became known."""
    form = IncidentForm(request.POST or None, initial={"known_at": timezone.now()})
    if request.method == "POST":
        row = tried(form, lambda: incidents.open_one(by=request.user, **form.cleaned_data))
        if row:
            return redirect("incidents:one", row.pk)
    title = _("New security incident")
    return form_page(request, form, title=title, act=_("Enter it in the register"), crumbs=_crumbs())


@login_required
@require_http_methods(FORM)
@_needs(Permission.INCIDENT_MANAGE)
def change(request: SignedInRequest, pk: str) -> HttpResponse:
    """What was found out since."""
    row = fetch(pk)
    form = IncidentForm(request.POST or None, initial=incident_initial(row))
    if request.method == "POST" and tried(
        form, lambda: incidents.change(incident=row, by=request.user, **form.cleaned_data)
    ):
        messages.success(request, _("Kept. What it said before is in the audit trail."))
        return redirect("incidents:one", pk)
    title = _("Change %(name)s") % {"name": row.title}
    return form_page(request, form, title=title, act=_("Keep the changes"), crumbs=_crumbs(row))


@login_required
@require_http_methods(FORM)
@_needs(Permission.INCIDENT_MANAGE)
def notify(request: SignedInRequest, pk: str) -> HttpResponse:
    """Write down who was told what."""
    row = fetch(pk)
    form = NoticeForm(request.POST or None, initial={"at": timezone.now()})
    if request.method == "POST" and tried(
        form, lambda: incidents.notify(incident=row, by=request.user, **form.cleaned_data)
    ):
        messages.success(request, _("Written down."))
        return redirect("incidents:one", pk)
    return form_page(request, form, title=_("A notice was given"), act=_("Write it down"), crumbs=_crumbs(row))


@login_required
@require_POST
@_needs(Permission.INCIDENT_MANAGE)
def close(request: SignedInRequest, pk: str) -> HttpResponse:
    """Everything was done."""
    row = fetch(pk)
    act = partial(incidents.close, incident=row, by=request.user)
    return done_or_said(request, act, _("Closed. It stays in the register."), "incidents:one", pk)
