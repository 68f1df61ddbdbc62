"""How long bodies of events are kept, class by class: shown to who reads the trail, changed by an administrator."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from access import gate
from access.errors import Refused
from access.permissions import Permission
from audit import catalogue
from audit.catalogue import RetentionClass
from audit.forms import RetentionForm
from audit.retention import LEAST, NOTICE
from audit.services import keeping, scope

KINDS: dict[str, tuple[str | Promise, str | Promise]] = {
    RetentionClass.SESSION: (gettext_lazy("Sign-ins"), gettext_lazy("sign-ins, sessions, tokens")),
    RetentionClass.ACCESS: (gettext_lazy("Access"), gettext_lazy("who read what, or was refused")),
    RetentionClass.JOB: (gettext_lazy("Jobs"), gettext_lazy("what was submitted, started, ended")),
    RetentionClass.GOVERNANCE: (gettext_lazy("Governance"), gettext_lazy("people, projects, roles, allocations")),
    RetentionClass.DATA: (gettext_lazy("Data"), gettext_lazy("datasets, permissions to use them, their use")),
    RetentionClass.TRAIL: (gettext_lazy("Trail"), gettext_lazy("exports, retention, holds, pseudonyms")),
    RetentionClass.INCIDENT: (gettext_lazy("Security incidents"), gettext_lazy("security incidents and alarms")),
    RetentionClass.OPERATOR: (gettext_lazy("Administration"), gettext_lazy("administrators' acts, differences")),
}


@login_required
@require_http_methods(["GET", "POST"])
def retention(request: HttpRequest) -> HttpResponse:
    """The table of classes (GET), and one of them changed (POST)."""
    scope.whole_for(request.user)
    may = gate.site_can(request.user, Permission.TRAIL_GOVERN)
    form = RetentionForm(request.POST) if request.method == "POST" else None
    if form is not None:
        if not may:
            raise Refused(Permission.TRAIL_GOVERN, "audit.retentionrule", {})
        if form.is_valid() and _change(request, form):
            return redirect("audit:retention")
    rows = [_row(one, form) for one in keeping.keeping()]
    context = {"rows": rows, "may": may, "notice": NOTICE.days}
    return render(request, "audit/retention.html", context, status=422 if form is not None else 200)


def _change(request: HttpRequest, form: RetentionForm) -> bool:
    asked = form.cleaned_data
    try:
        keeping.change_retention(
            kind=RetentionClass(asked["kind"]), days=asked["days"], by=request.user, why=asked["why"]
        )
    except keeping.NothingChanged:
        form.add_error("days", _("It is so already."))
        return False
    messages.success(request, _("The retention is changed, and the trail says so."))
    return True


def _row(one: keeping.Keeping, asked: RetentionForm | None) -> dict[str, Any]:
    mine = asked if asked is not None and asked.data.get("kind") == one.kind else None
    name, what = KINDS[one.kind]
    form = mine or RetentionForm(initial={"kind": one.kind, "days": one.days}, auto_id=f"{one.kind}_%s")
    return {
        "now": one, "name": name, "what": what, "form": form, "open": mine is not None, "least": LEAST[one.kind],
        "actions": len(catalogue.in_class(one.kind)),
    }  # fmt: skip
