"""The files a job wrote, newest first: a part of its page, fetched when it is looked at."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from jobs.services import reading, writing
from storage import words
from storage.reaching import address
from storage.views.browsing import row, starts_at


@login_required
@require_safe
def files(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """What its owner changed in its folder from its start on, until its end."""
    job = reading.fetch(request.user, pk)
    code = job.project.code
    try:
        found = writing.written(job=job, by=request.user)
    except words.FAILURES as error:
        status, _word, said = words.of(error)
        return render(request, "jobs/_files.html", {"job": job, "said": said}, status=200 if status == 503 else status)
    rows = [row(job.project, one.name, one, found.owners) for one in found.files.entries] if found else []
    folder = address("folder", code, found.folder if found else "")
    again = found.folder if found and starts_at(found.folder) else ""
    may_submit = bool(again) and gate.can(job.project, request.user, Permission.JOB_SUBMIT)
    context = {"job": job, "found": found, "rows": rows, "folder": folder, "again": again, "may_submit": may_submit}
    return render(request, "jobs/_files.html", context)
