"""Acts on jobs: one from its page, several from a list after a preview of what happens to each."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from access.numbers import whole
from access.permissions import Permission
from accounts.http import SignedInRequest
from jobs.acts import DESTROYS, ON_SLURM, Act
from jobs.services import acts, shapes
from jobs.services.acts import many

LONGEST_MINUTES = 5_256_000


@login_required
@require_POST
def act(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """One act on one job; what it came to is said on the job's page."""
    job = shapes.NAMED.fetch(request.user, Permission.JOB_VIEW, pk=pk)
    wanted = _act(request)
    if wanted is None:
        return redirect(job)
    detail = _detail(request, wanted)
    if detail is None:
        messages.error(request, _("Give the new time limit in minutes."))
        return redirect(job)
    outcome = many.one(job=job, act=wanted, by=request.user, **detail)
    _tell(request, wanted, outcome)
    return redirect(outcome.made or job)


def _act(request: HttpRequest) -> Act | None:
    word = request.POST.get("act", "")
    return Act(word) if word in Act.values else None


def _detail(request: HttpRequest, wanted: Act) -> dict[str, int] | None:
    """What the act takes beside the job; None where that is missing, or is none."""
    if wanted is not Act.EXTEND:
        return {}
    minutes = whole(request.POST.get("minutes", ""), digits=8) or 0
    return {"minutes": minutes} if 0 < minutes <= LONGEST_MINUTES else None


def _tell(request: SignedInRequest, wanted: Act, outcome: acts.Outcome) -> None:
    if not outcome.ok:
        messages.error(request, outcome.words)
    elif wanted in ON_SLURM:
        messages.success(request, _("Asked for. Slurm does it in a moment."))
    else:
        messages.success(request, _("The job was submitted again.") if outcome.made else _("Done."))


@login_required
@require_POST
def label(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """Another name, another note."""
    job = shapes.PLAIN.fetch(request.user, Permission.JOB_CANCEL, pk=pk)
    acts.label(job=job, by=request.user, alias=request.POST.get("alias", ""), note=request.POST.get("note", ""))
    messages.success(request, _("Saved."))
    return redirect(job)


@login_required
@require_POST
def several(request: SignedInRequest) -> HttpResponse:
    """What the act does to each of the chosen jobs; with `sure`, it is done."""
    wanted, ids = _act(request), _ids(request)
    back = _back(request)
    if request.POST.get("act") == "compare":
        return _compare(request, ids, back)
    if wanted is None or not ids:
        messages.info(request, _("Choose jobs and what is to be done with them."))
        return redirect(back)
    detail = _detail(request, wanted)
    if request.POST.get("sure") and detail is not None:
        _report(request, acts.carry(ids=ids, act=wanted, by=request.user, **detail))
        return redirect(back)
    wrong = _("Give the new time limit in minutes.") if request.POST.get("sure") else ""
    rows = acts.preview(ids=ids, act=wanted, by=request.user)
    return render(request, "jobs/acts.html", _context(wanted, rows, back) | {"wrong": wrong})


def _compare(request: SignedInRequest, ids: list[UUID], back: str) -> HttpResponse:
    if len(ids) not in (1, 2):
        messages.info(request, _("Choose two jobs to compare."))
        return redirect(back)
    return redirect(f"{reverse('jobs:compare')}?a={ids[-1]}" + (f"&b={ids[0]}" if len(ids) == 2 else ""))


def _context(wanted: Act, rows: list[Any], back: str) -> dict[str, Any]:
    good = [job for job, verdict in rows if verdict.ok]
    return {"act": wanted, "rows": rows, "good": good, "destroys": wanted in DESTROYS, "back": back,
            "takes_minutes": wanted is Act.EXTEND}  # fmt: skip


def _ids(request: HttpRequest) -> list[UUID]:
    found = []
    for text in request.POST.getlist("job")[: acts.AT_MOST]:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found


def _back(request: HttpRequest) -> str:
    """Where the list was, if that is a page of ours."""
    said = request.POST.get("back", "")
    ours = said.startswith(reverse("jobs:list")) and url_has_allowed_host_and_scheme(said, allowed_hosts=None)
    return said if ours else reverse("jobs:list")


def _report(request: HttpRequest, outcomes: list[acts.Outcome]) -> None:
    done = sum(outcome.ok for outcome in outcomes)
    if done:
        messages.success(request, ngettext("Done for %(n)d job.", "Done for %(n)d jobs.", done) % {"n": done})
    for outcome in outcomes:
        if not outcome.ok:
            messages.error(request, f"{outcome.job.called}: {outcome.words}")
