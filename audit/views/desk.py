"""What an auditor keeps and asks: filters under a name, the seals, a verification with its result explained."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from access.numbers import whole
from audit import trail
from audit.actions import Action
from audit.models import Checkpoint, Verification
from audit.services import desk, scope, verifying
from audit.services.proofs import public_keys
from audit.views.events import asked_of, query_of
from audit.views.verdicts import told

PAGE = 60
SHOWN = 20


@login_required
@require_POST
def keep_filter(request: HttpRequest) -> HttpResponse:
    """Keep what the address asks for under a name."""
    scope.readable_by(request.user)
    name, query = request.POST.get("name", "").replace("\x00", "").strip()[:60], request.POST.get("query", "")
    asked = HttpRequest()
    asked.GET = QueryDict(query[:600])
    kept = query_of(asked_of(asked))
    if not name:
        messages.error(request, _("Give the filter a name."))
    else:
        _keep(request, name, kept)
    return redirect(f"{reverse('audit:list')}?{kept}")


def _keep(request: HttpRequest, name: str, query: str) -> None:
    try:
        desk.keep(by=request.user, name=name, query=query)
        messages.success(request, _("The filter “%(name)s” is kept.") % {"name": name})
    except desk.TooMany:
        messages.error(request, _("You keep very many filters. Remove one that you do not need."))


@login_required
@require_POST
def forget_filter(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove one of my filters."""
    scope.readable_by(request.user)
    if not desk.forget(by=request.user, pk=pk):
        raise Http404
    return redirect("audit:list")


@login_required
@require_safe
def seals(request: HttpRequest) -> HttpResponse:
    """Where the trail was signed, the newest first."""
    scope.whole_for(request.user)
    before = request.GET.get("before", "")
    rows = Checkpoint.objects.order_by("-pk")
    number = whole(before, digits=17)
    if number is not None:
        rows = rows.filter(pk__lt=number)
    found = list(rows[: PAGE + 1])
    trail.record(Action.TRAIL_READ, by=request.user, filter={"seals": before or "newest"})
    older = found[PAGE - 1].pk if len(found) > PAGE else None
    context = {"seals": found[:PAGE], "older": older, "before": before, "known": set(public_keys())}
    return render(request, "audit/seals.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def verify(request: HttpRequest) -> HttpResponse:
    """Have the trail checked against its seals (POST), and what came out (GET)."""
    scope.whole_for(request.user)
    if request.method == "POST":
        verifying.ask(by=request.user)
        return redirect("audit:verify")
    rows = [told(row) for row in Verification.objects.order_by("-asked_at")[:SHOWN]]
    last = Checkpoint.objects.order_by("-pk").first()
    template = "audit/_verifications.html" if request.htmx else "audit/verify.html"  # type: ignore[attr-defined]
    context = {
        "rows": rows,
        "last": last,
        "keys": sorted(public_keys()),
        "running": any(row.is_running for row in rows),
    }
    return render(request, template, context)
