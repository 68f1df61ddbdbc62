"""What is kept on a person, and taking their name away (LGPD)."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from access.errors import NotFound
from access.permissions import Permission
from audit import things
from audit.services import pseudonyms, reporting, scope
from audit.views.holds import governed


def _person(login: str, permission: Permission = Permission.TRAIL_READ) -> Any:
    found = things.find("person", login)
    if found is None:
        raise NotFound(permission, "accounts.user", {"login": login})
    return found


@login_required
@require_safe
def people(request: HttpRequest) -> HttpResponse:
    """Ask for a person by login."""
    scope.whole_for(request.user)
    login = request.GET.get("login", "").replace("\x00", "").strip()[:64]
    if login and things.find("person", login) is not None:
        return redirect("audit:person", login)
    return render(request, "audit/people.html", {"login": login}, status=422 if login else 200)


@login_required
@require_safe
def person(request: HttpRequest, login: str) -> HttpResponse:
    """All that is held on one person; for printing, or as JSON."""
    scope.whole_for(request.user)
    found = _person(login)
    as_json = request.GET.get("form") == "json"
    report = reporting.of(found, by=request.user, form="json" if as_json else "page")
    if as_json:
        return JsonResponse(reporting.plain(report), json_dumps_params={"ensure_ascii": False, "indent": 2})
    context = {"person": found, "report": report, "may": governed(request)}
    return render(request, "audit/person.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def pseudonymise(request: HttpRequest, login: str) -> HttpResponse:
    """What would happen (GET), and let it happen (POST, with the login typed again)."""
    governed(request)
    found, trouble = _person(login, Permission.TRAIL_GOVERN), ""
    if request.method == "POST":
        trouble = _ask(request, found)
        if not trouble:
            return redirect("audit:people")
    reasons = pseudonyms.reasons(found)
    context = {"person": found, "reasons": reasons, "trouble": trouble, "why": request.POST.get("why", "")}
    return render(request, "audit/pseudonymise.html", context, status=422 if trouble else 200)


def _ask(request: HttpRequest, person: Any) -> str:
    """What is wrong; "" where it was done."""
    if request.POST.get("login") != person.get_username():
        return _("Type the sign-in of this person to confirm.")
    why = request.POST.get("why", "").replace("\x00", "").strip()
    if not why:
        return _("Say why; it is kept in the audit trail.")
    try:
        row = pseudonyms.ask(person=person, by=request.user, why=why)
    except pseudonyms.Hindered as error:
        return _("Not now: %(reasons)s.") % {"reasons": str(error)}
    except pseudonyms.Done:
        return _("This person has a pseudonym already.")
    messages.success(request, _("The sign-in is “%(name)s” from now on.") % {"name": row.pseudonym})
    return ""
