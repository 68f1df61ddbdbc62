"""Legal holds and guest auditors: shown to who reads the trail, made and ended by an administrator."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from access import gate
from access.errors import NotFound, Refused
from access.permissions import Permission
from audit import identities, things
from audit.forms import GuestForm, HoldForm
from audit.models import GuestAuditor, Identity, LegalHold
from audit.services import guests as guest_services
from audit.services import keeping, scope

SHOWN = 200


def governed(request: HttpRequest) -> bool:
    """Whether they may change what they see; NotFound where they may not even see it, Refused where they tried."""
    scope.whole_for(request.user)
    may = gate.site_can(request.user, Permission.TRAIL_GOVERN)
    if request.method == "POST" and not may:
        raise Refused(Permission.TRAIL_GOVERN, "audit.auditevent", {})
    return may


@login_required
@require_http_methods(["GET", "POST"])
def holds(request: HttpRequest) -> HttpResponse:
    """All holds (GET), a new one (POST)."""
    may = governed(request)
    form = HoldForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        keeping.place_hold(by=request.user, **form.cleaned_data)
        messages.success(request, _("The hold is in force from now on."))
        return redirect("audit:holds")
    rows = list(LegalHold.objects.order_by("-placed_at")[:SHOWN])
    force = set(keeping.in_force().values_list("pk", flat=True))
    names = _names(one.person_ref for one in rows)
    lines = [{"row": one, "in_force": one.pk in force, "person": names.get(one.person_ref, "")} for one in rows]
    status = 422 if form.is_bound else 200
    return render(request, "audit/holds.html", {"lines": lines, "form": form, "may": may}, status=status)


def _names(refs: Any) -> dict[Any, str]:
    return dict(Identity.objects.filter(ref__in=[one for one in refs if one]).values_list("ref", "value"))


@login_required
@require_POST
def lift(request: HttpRequest, pk: int) -> HttpResponse:
    """End a hold."""
    governed(request)
    row = LegalHold.objects.filter(pk=pk).first()
    if row is None:
        raise NotFound(Permission.TRAIL_GOVERN, "audit.legalhold", {"pk": pk})
    try:
        keeping.lift_hold(hold=row, by=request.user, why=request.POST.get("why", "")[:300])
        messages.success(request, _("The hold is lifted; what it covers is kept for another week."))
    except keeping.NotHeld:
        messages.error(request, _("This hold was lifted already."))
    return redirect("audit:holds")


@login_required
@require_http_methods(["GET", "POST"])
def guests(request: HttpRequest) -> HttpResponse:
    """All guest auditors (GET), a new one (POST)."""
    may = governed(request)
    form = GuestForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _admit(request, form):
        return redirect("audit:guests")
    rows = list(GuestAuditor.objects.order_by("-starts_at")[:SHOWN])
    names = _names(ref for one in rows for ref in (one.user_ref, one.by_ref))
    lines = [
        {"row": one, "in_force": one.is_in_force(), "who": names.get(one.user_ref, ""), "by": names.get(one.by_ref, "")}
        for one in rows
    ]
    status = 422 if form.is_bound else 200
    return render(request, "audit/guests.html", {"lines": lines, "form": form, "may": may}, status=status)


def _admit(request: HttpRequest, form: GuestForm) -> bool:
    try:
        guest_services.admit(by=request.user, **form.cleaned_data)
    except guest_services.NotInTime:
        form.add_error("ends_at", _("Choose a day within a year from now."))
        return False
    messages.success(request, _("The guest may read from now on."))
    return True


@login_required
@require_POST
def end_guest(request: HttpRequest, pk: int) -> HttpResponse:
    """End a guest's time."""
    governed(request)
    row = GuestAuditor.objects.filter(pk=pk).first()
    if row is None:
        raise NotFound(Permission.TRAIL_GOVERN, "audit.guestauditor", {"pk": pk})
    try:
        guest_services.end(guest=row, user=things.find("person", identities.named(row.user_ref)), by=request.user)
        messages.success(request, _("The guest reads nothing any more."))
    except guest_services.Ended:
        messages.error(request, _("This guest's time is over already."))
    return redirect("audit:guests")
