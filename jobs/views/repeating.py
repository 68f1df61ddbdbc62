"""What it takes to run a job again exactly, and two runs side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_safe

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from audit import trail
from audit.actions import Action
from jobs import manifest
from jobs.models import Job
from jobs.services import reading, recalling
from projects import tables

CANDIDATES = 30


@login_required
@require_safe
def compare(request: SignedInRequest) -> HttpResponse:
    """Two jobs, differences first; with one of them, jobs to lay beside it."""
    first = reading.fetch(request.user, request.GET.get("a", ""))
    other = request.GET.get("b", "")
    if not other:
        return render(request, "jobs/compare.html", {"first": first, "candidates": _candidates(request, first)})
    second = reading.fetch(request.user, other)
    context = _context(first, second) | {"first": first, "second": second, "names": told_apart([first, second])}
    return render(request, "jobs/compare.html", context)


def told_apart(jobs: list[Job]) -> list[str]:
    """What each is called, with its number where several are called the same."""
    names = [job.called for job in jobs]
    if len(set(names)) == len(names):
        return names
    return [f"{job.called} ({job.slurm_job_id})" if job.slurm_job_id else job.called for job in jobs]


@login_required
@require_GET
def compare_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """The facts of both, differences first; that somebody took them is recorded with each."""
    first, second = (reading.fetch_to_take(request.user, request.GET.get(name, "")) for name in ("a", "b"))
    for job in dict.fromkeys((first, second)):
        trail.record(Action.REPORT_READ, by=request.user, project=job.project, about=job, table="comparison")
    pairs = manifest.compare(recalling.told(first).lines, recalling.told(second).lines)
    head = [_("section"), _("fact"), *told_apart([first, second]), _("the same")]
    return tables.of_today("comparison", head, _facts(pairs))


def _facts(pairs: list[manifest.Pair]) -> Iterator[list[str]]:
    for pair in pairs:
        yield [pair.section, pair.label, pair.first, pair.second, _("yes") if pair.same else _("no")]


def _context(first: Job, second: Job) -> dict[str, Any]:
    here, there = recalling.told(first), recalling.told(second)
    pairs = manifest.compare(here.lines, there.lines)
    return {
        "differ": [pair for pair in pairs if not pair.same],
        "alike": [pair for pair in pairs if pair.same],
        "scripts": recalling.script_differences(first, second),
        "outcomes": [(job, told.use) for job, told in ((first, here), (second, there))],
    }


def _candidates(request: SignedInRequest, job: Job) -> list[Job]:
    """Of the same project, those of the same name first."""
    rows = gate.allowing(Job.objects.lines(), request.user, Permission.LOG_READ)
    found = list(rows.filter(project=job.project_id).exclude(pk=job.pk).order_by("-pk")[:CANDIDATES])
    return sorted(found, key=lambda row: row.name != job.name)


def manifest_context(job: Job) -> dict[str, Any]:
    """For the job page's tab."""
    told = recalling.told(job)
    return {"lines": told.lines, "noted": told.noted, "is_shell": told.is_shell, "repositories": told.repositories}
