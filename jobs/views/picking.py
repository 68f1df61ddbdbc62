"""Parts of the submit form that offer what a field may name: fetched when it is looked at, searched by typing."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from datasets.services import offering
from jobs.services import picking
from jobs.views.submitting import plain
from presets.services.environments import offered_software
from projects.models import Project

LONGEST = 2000  # characters of a field that are read
MOST = 20  # datasets


@login_required
@require_safe
def after(request: SignedInRequest) -> HttpResponse:
    """Jobs to wait for, each with how."""
    found, rest = picking.waits(project=_project(request), by=request.user, said=_said(request, "after"), q=_q(request))
    return _part(request, "after", {"waits": found, "rest": rest}, searched="q" in request.GET)


@login_required
@require_safe
def datasets(request: SignedInRequest) -> HttpResponse:
    """Datasets with what is missing before they can be used."""
    said = dict.fromkeys(_said(request, "datasets").split())
    chosen = {one.partition("@")[0]: one.partition("@")[2] for one in list(said)[:MOST]}
    found, more = offering.offered(project=_project(request), user=request.user, q=_q(request), chosen=list(chosen))
    rows = [(one, chosen.get(one.dataset.code)) for one in found]
    known = {one.dataset.code for one in found}
    rest = " ".join(one for one in said if one.partition("@")[0] not in known)
    return _part(request, "datasets", {"offers": rows, "rest": rest, "more": more}, searched="q" in request.GET)


@login_required
@require_safe
def folder(request: SignedInRequest) -> HttpResponse:
    """The folders of one's own earlier jobs."""
    found = picking.folders(project=_project(request), by=request.user)
    return _part(request, "folder", {"folders": found, "rest": _said(request, "folder")})


@login_required
@require_safe
def reservation(request: SignedInRequest) -> HttpResponse:
    """The reservations of nodes that the project may use."""
    said = _said(request, "reservation")
    found = picking.reservations(project=_project(request), by=request.user)
    return _part(request, "reservation", {"kept": found, "rest": said, "known": [one.name for one in found]})


@login_required
@require_safe
def software(request: SignedInRequest) -> HttpResponse:
    """The environments a job may name: the project's own, then the site's."""
    found = offered_software(_project(request))
    return _part(request, "software", {"software": found, "rest": _said(request, "software")})


def _project(request: SignedInRequest) -> Project:
    code = plain(request.GET.get("project", ""))
    return gate.fetch(Project.objects, request.user, Permission.JOB_SUBMIT, code=code)


def _said(request: SignedInRequest, name: str) -> str:
    """What stands in the field, however many controls it has."""
    return plain(" ".join(one.strip() for one in request.GET.getlist(name) if one.strip()))[:LONGEST]


def _q(request: SignedInRequest) -> str:
    return plain(request.GET.get("q", "")).strip()[:64]


def _part(request: SignedInRequest, name: str, context: dict[str, Any], *, searched: bool = False) -> HttpResponse:
    """The whole picker; of one that is searched only its rows."""
    template = f"jobs/_pick_{name}{'_rows' if searched else ''}.html"
    return render(request, template, context | {"code": plain(request.GET.get("project", "")), "q": _q(request)})
