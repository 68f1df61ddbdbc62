"""What becomes of a denial at each kind of door: an event in the trail, then the door's own kind of answer."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from access.errors import Denied, NotFound
from audit import trail
from audit.actions import Action, Outcome


def record(error: Denied, *, by: Any) -> None:
    """Write down who was denied what."""
    person = by if getattr(by, "is_authenticated", False) else None
    trail.record(
        Action.ACCESS_REFUSED,
        by=person,
        outcome=Outcome.REFUSED,
        permission=str(error.permission),
        subject=error.subject,
        key={name: str(value)[:100] for name, value in error.key.items()},
        seen=not isinstance(error, NotFound),
    )


def page(request: HttpRequest, error: Denied) -> HttpResponse:
    """404 where the thing may not even be seen (the same page as for a wrong address), else 403."""
    record(error, by=request.user)
    hidden = isinstance(error, NotFound)
    context = {"why": getattr(error, "why", "")}
    return render(request, "404.html" if hidden else "403.html", context, status=404 if hidden else 403)
