"""What a person asked for, to join, for projects and for allocations, and where each stands; who waits for them."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, NullIf
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from accounts.models import User
from projects import reads
from projects.reads import OWN, Asked
from quotas.models import AllocationRequest


@login_required
@require_GET
def asked(request: SignedInRequest) -> HttpResponse:
    """All of it as a page; or, for home, the part that waits or was answered lately."""
    me, ever = request.user, not request.htmx
    rows = sorted(
        [*reads.asked_by(me, ever=ever), *of_allocations(me, ever=ever)], key=lambda row: row.at, reverse=True
    )
    context = {"to_answer": reads.to_answer(me), "ever": ever}
    if ever:
        waiting, answered = [row for row in rows if row.is_open], [row for row in rows if not row.is_open]
        return render(request, "projects/asked.html", context | {"asked": waiting, "answered": answered})
    context["asked"] = rows
    shows = rows or context["to_answer"]
    return render(request, "projects/_attention.html", context) if shows else HttpResponse(status=204)


def of_allocations(user: User, *, ever: bool = False) -> list[Asked]:
    """The requests for allocations that the person made, of projects whose requests they may still read."""
    mine = AllocationRequest.objects.filter(Q(asked_by=user) if ever else reads.lately(user))
    what = Coalesce(NullIf(F("allocation__title"), Value("")), F("title"))
    rows = gate.allowing(mine, user, Permission.TRAIL_READ).order_by("-asked_at")
    found = rows.values_list("pk", "kind", "project__code", what, *OWN, "project__code")
    return [Asked(*row) for row in found[: reads.MOST_ASKED]]
