"""Notices: the bell, their page, and what a person wants to be told of all jobs or of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from access.errors import Refused
from access.permissions import Permission
from accounts.http import SignedInRequest
from jobs.models import Job, Kind, Way
from jobs.services import noticing, shapes

Row = tuple[str, str | Promise, str]


def rows(ways: Mapping[str, str]) -> list[Row]:
    """(kind, its label, the way) for the form."""
    return [(kind.value, kind.label, ways[kind]) for kind in Kind]


@login_required
@require_safe
def listed(request: SignedInRequest) -> HttpResponse:
    """The newest, and the choice."""
    found = noticing.shown(request.user)
    context: dict[str, Any] = {
        "notices": found, "any_new": any(one.read_at is None for one in found), "ways": Way.choices,
        "choice": rows(noticing.ways_of(request.user)), "mail_is_on": settings.MAIL_IS_ON,
    }  # fmt: skip
    return render(request, "jobs/notices.html", context)


@login_required
@require_safe
def bell(request: SignedInRequest) -> HttpResponse:
    """How many are new; the top bar asks once a page and a minute."""
    return render(request, "jobs/_bell.html", {"unread": noticing.unread(request.user)})


@login_required
@require_POST
def read(request: SignedInRequest) -> HttpResponse:
    """All of them are read."""
    noticing.mark_read(request.user)
    return redirect("jobs:notices")


@login_required
@require_POST
def choice(request: SignedInRequest) -> HttpResponse:
    """Of all jobs."""
    noticing.choose(by=request.user, ways=request.POST.dict())
    messages.success(request, _("Saved."))
    return redirect("jobs:notices")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def of_job(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """Of one job of one's own."""
    job = shapes.PLAIN.fetch(request.user, Permission.JOB_VIEW, pk=pk)
    if job.owner_id != request.user.pk:
        raise Refused(Permission.SELF_MANAGE, Job._meta.label_lower, {"pk": job.pk})
    if request.method == "POST":
        noticing.choose(by=request.user, ways=request.POST.dict(), job=job)
        messages.success(request, _("Saved."))
        return redirect(job)
    about = {
        "job": job,
        "choice": rows(noticing.ways_of(request.user, job)),
        "ways": Way.choices,
        "action": request.path,
    }
    return render(request, "jobs/_notice_choice.html" if request.htmx else "jobs/notices_of.html", about)
