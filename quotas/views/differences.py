"""Where Slurm is not as the portal says: what differs and why, what failed, and what the next comparison would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db.models import F
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from accounts.http import SignedInRequest
from audit import trail
from audit.actions import Action
from projects import tables
from projects.models import Project
from quotas import words
from quotas.differing import MOST, Line, lines, troubled
from quotas.models import Enforcement
from quotas.services import drift
from quotas.services.rehearsing import Rehearsal, rehearse

# the steps of a rehearsal, and what becomes of them
KINDS = {
    "steps": gettext_lazy("Told to Slurm"),
    "waiting": gettext_lazy("Waits for the next pass: over the cap on removals"),
    "shown": gettext_lazy("Shown only"),
}  # fmt: skip


def operator(request: SignedInRequest) -> None:
    """Raises NotFound for everybody else."""
    if not gate.site_can(request.user, Permission.CLUSTER_OPERATE):
        raise NotFound(Permission.CLUSTER_OPERATE, "quotas.enforcement", {})


@login_required
@require_GET
def differences(request: SignedInRequest) -> HttpResponse:
    """The page."""
    operator(request)
    found = lines(troubled()[: MOST + 1])
    context = {
        "lines": found[:MOST], "more": len(found) > MOST, "last": _last_compared(), "mode": settings.RECONCILE,
        "most": settings.REMOVALS_PER_PASS,
    }  # fmt: skip
    return render(request, "operate/differences.html", context)


@login_required
@require_GET
def dry_run(request: SignedInRequest) -> HttpResponse:
    """What the next comparison would tell Slurm, what waits for a later one, and what it would only show."""
    operator(request)
    rows = rehearse()
    context = {
        "rows": [(one, _in_words(one)) for one in rows[:MOST]], "more": len(rows) > MOST, "mode": settings.RECONCILE,
        "most": settings.REMOVALS_PER_PASS, "last": _last_of(rows) if rows else _last_compared(),
        "count": {name: sum(len(getattr(one, name)) for one in rows) for name in KINDS},
    }  # fmt: skip
    return render(request, "operate/dry_run.html", context)


def _in_words(one: Rehearsal) -> list[tuple[str, list[words.Sentence]]]:
    """What is told, waits and is shown, each with its heading; what is empty is left out."""
    found = [(str(label), words.steps(getattr(one, name), one.titles)) for name, label in KINDS.items()]
    return [(label, steps) for label, steps in found if steps]


def _last_of(rows: Sequence[Rehearsal]) -> Any:
    """When these were compared last, by what was read of them."""
    known = (getattr(one.project, "enforcement", None) for one in rows)
    return max((row.checked_at for row in known if row and row.checked_at), default=None)


def _last_compared() -> Any:
    rows = Enforcement.objects.order_by(F("checked_at").desc(nulls_last=True))
    return rows.values_list("checked_at", flat=True).first()


@login_required
@require_GET
def dry_run_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """Every step as a row; that somebody took them is recorded."""
    operator(request)
    trail.record(Action.REPORT_READ, by=request.user, table="dry run")
    head = [_("project"), _("cause"), _("what happens"), _("step"), _("queues"), _("limit"), _("before"), _("after")]
    return tables.of_today("dry-run", head, _step_cells(rehearse()))


def _step_cells(rows: Sequence[Rehearsal]) -> Iterator[list[Any]]:
    for one in rows:
        cause = _("the portal's own change") if one.is_ours else _("changed by hand in Slurm")
        for label, steps in _in_words(one):
            for step in steps:
                common = [one.project.code, cause, label, step.text, step.queues]
                for change in step.lines or [words.Line("", "", "")]:
                    yield [*common, change.name, change.before, change.after]


@login_required
@require_POST
def resolve(request: SignedInRequest, code: str) -> HttpResponse:
    """Put Slurm back to what the portal says (`act=restore`), or take over what Slurm has (`act=adopt`)."""
    operator(request)
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_MANAGE, code=code)
    try:
        if request.POST.get("act") == "adopt":
            drift.adopt(project=project, by=request.user)
            messages.success(request, _("Taken over: the portal now says what Slurm has."))
        else:
            drift.restore(project=project, by=request.user)
            messages.success(request, _("Slurm is put back to what the portal says, within seconds."))
    except drift.NothingToDo:
        messages.error(request, _("There is no such difference any more."))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("operate:differences")


@login_required
@require_GET
def differences_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """Every difference as a row; that somebody took them is recorded."""
    operator(request)
    trail.record(Action.REPORT_READ, by=request.user, table="differences")
    head = [_("project"), _("state in Slurm"), _("what"), _("queues"), _("limit"), _("portal"), _("Slurm"), _("reason")]
    return tables.of_today("differences", head, _cells(lines(troubled())))


def _cells(found: Sequence[Line]) -> Iterator[list[Any]]:
    for line in found:
        common = [line.project.code, str(line.standing.words)]
        for sentence in line.sentences:
            for one in sentence.lines:
                yield [*common, sentence.text, sentence.queues, one.name, one.before, one.after, line.standing.error]
        if not line.sentences:
            yield [*common, "", "", "", "", "", line.standing.error]
