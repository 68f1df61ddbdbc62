"""Exports of a project's own trail, for those who answer for it; the pages are the trail's."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBase
from django.views.decorators.http import require_http_methods, require_safe

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from audit.views import exports as audit
from projects.models import Project


def _project(request: SignedInRequest, code: str) -> Project:
    return gate.fetch(Project.objects, request.user, Permission.TRAIL_READ, code=code)


@login_required
@require_safe
def exports(request: SignedInRequest, code: str) -> HttpResponse:
    """What was written out of it."""
    return audit.listed(request, project=_project(request, code))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_export(request: SignedInRequest, code: str) -> HttpResponseBase:
    """Ask for one."""
    return audit.asked(request, project=_project(request, code))


@login_required
@require_safe
def export(request: SignedInRequest, code: str, pk: UUID) -> HttpResponse:
    """How far one is."""
    return audit.shown(request, pk, project=_project(request, code))


@login_required
@require_safe
def download(request: SignedInRequest, code: str, pk: UUID) -> HttpResponseBase:
    """Its file."""
    return audit.sent(request, pk, project=_project(request, code))
