"""One job: its page, the part of it that lives, and its output."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_safe

from access import gate
from access.compiled import Fixed
from access.errors import Refused
from access.permissions import Permission
from accounts.http import SignedInRequest
from audit import trail
from audit.actions import Action
from audit.identities import name_all
from audit.models import AuditEvent
from jobs import reasons
from jobs.acts import possible
from jobs.models import Job, Run, Star
from jobs.services import acts, afterwards, chaining, data, waiting
from jobs.services.gpus import showing
from jobs.states import State
from jobs.views import tasks
from jobs.views.repeating import manifest_context

EVENTS = 100
TABS = ("output", "tasks", "gpus", "files", "request", "manifest", "events")


def _whole(pk: UUID, viewer: int) -> QuerySet[Job]:
    """With what its page says of others: their names; and whether the viewer has marked it."""
    others = ("project", "owner", "allocation", "cancel_asked_by")
    unused = ("idempotency_key", "environment", "project__partitions", "owner__password", "cancel_asked_by__password")
    marked = Exists(Star.objects.filter(job=OuterRef("pk"), user=viewer))
    return Job.objects.filter(pk=pk).annotate(is_starred=marked).select_related(*others).defer(*unused)


def _runs(job: UUID) -> QuerySet[Run]:
    rows = Run.objects.filter(handover__job=job).select_related("handover")
    return rows.order_by("handover__attempt", "restart_count").only(
        "restart_count", "array_task", "started_at", "ended_at", "node_list", "cpus", "gpus", "cpu_seconds",
        "peak_memory_mb", "measured_at", "handover__stderr_path",
    )  # fmt: skip


WHOLE = gate.Listing(_whole, most=1)
RUNS = Fixed(_runs)


def _job(request: SignedInRequest, pk: UUID, permission: Permission = Permission.JOB_VIEW) -> Job:
    return WHOLE.fetch(request.user, permission, {"viewer": request.user.pk}, pk=pk)


def _context(request: SignedInRequest, job: Job, rights: Collection[str]) -> dict[str, Any]:
    return {
        "job": job,
        "project": job.project,
        "runs": SimpleLazyObject(lambda: RUNS.all(job=job.pk)),  # not every tab shows them
        "reason": reasons.explain(job.reason) if job.state in (State.WAITING, State.HELD, State.REQUEUED) else None,
        "acts": possible(job, acts.rights_of(job, request.user, rights)),
        "can_label": Permission.JOB_CANCEL in rights,
        "starred": job.is_starred,  # type: ignore[attr-defined]
        "now": timezone.now(),
    }


def _can_read(request: SignedInRequest, rights: Collection[str]) -> bool:
    """Content is not metadata: every role in a project brings it, the auditor's role on the site does not."""
    only_metadata = gate.site_can(request.user, Permission.JOB_VIEW) and not gate.site_can(
        request.user, Permission.LOG_READ
    )
    return not only_metadata or Permission.LOG_READ in rights


@login_required
@require_safe
def detail(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """The job page."""
    job = _job(request, pk)
    tab = request.GET.get("tab", "output")
    rights = gate.rights_to(job, request.user)
    context = _context(request, job, rights) | {"tab": tab if tab in TABS else "output"}
    context |= _gpus(job, with_report=tab == "gpus")
    if tab == "gpus" and context["gpu_lines"]:
        showing.note(job=job, by=request.user)
    context["can_read"] = _can_read(request, rights)
    context["standings"] = data.read_by(job, request.user)
    context["is_mine"] = job.owner_id == request.user.pk
    context["shut"] = next((data.why_shut(one) for one in context["standings"] if not one.may_read), "")
    context["stream"] = "stderr" if request.GET.get("stream") == "stderr" else "stdout"
    context["story"] = _story(job, context) if context["tab"] == "output" else None
    context["may_see_events"] = job.owner_id == request.user.pk or Permission.TRAIL_READ in rights
    if job.is_array:
        context |= _array_of(request, job, context)
    if context["tab"] == "manifest" and context["can_read"] and not context["shut"]:
        context |= manifest_context(job)
    if context["tab"] == "events":
        context["events"] = name_all(_events(request, job, rights))
    return render(request, "jobs/detail.html", context)


def _gpus(job: Job, *, with_report: bool) -> dict[str, Any]:
    """Its GPUs, shown on two of the tabs; how many are idle, on all; the report, on one."""
    found = showing.shown(job, with_report=with_report)
    idle = sum(line.idle_seconds is not None for line in found.lines)
    return {"gpu_lines": found.lines, "gpu_report": found.report, "gpu_idle": idle, "time_zone": settings.TIME_ZONE}


def _array_of(request: SignedInRequest, job: Job, context: dict[str, Any]) -> dict[str, Any]:
    """Its tasks come first: the outputs are theirs."""
    if "tab" not in request.GET:
        context["tab"] = "tasks"
    if context["tab"] != "tasks":
        return {}
    readable = context["can_read"] and not context["shut"]
    return tasks.context(job, request.GET.get("sort", "")[:100], can_read=readable)


def _story(job: Job, context: dict[str, Any]) -> afterwards.Story | None:
    """What is told once it is over; what its output shows only to who may read that."""
    if job.ended_at is None:
        return None
    return afterwards.story(job, context["runs"], may_read=context["can_read"] and not context["shut"])


@login_required
@require_safe
def after(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """The part that comes some seconds after the end."""
    job = _job(request, pk)
    context = _context(request, job, rights := gate.rights_to(job, request.user))
    context["can_read"] = _can_read(request, rights)
    context["shut"] = any(not one.may_read for one in data.read_by(job, request.user))
    return render(request, "jobs/_after.html", context | {"story": _story(job, context)})


@login_required
@require_safe
def chain(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """The chain it stands in; nothing where it stands alone."""
    return render(request, "jobs/_chain.html", {"chain": chaining.of(_job(request, pk), request.user)})


@login_required
@require_safe
def why(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """The numbers behind why it waits."""
    return render(request, "jobs/_why_numbers.html", {"why": waiting.why(_job(request, pk))})


def _events(request: SignedInRequest, job: Job, rights: Collection[str]) -> list[AuditEvent]:
    """All of the job's for who may read the trail of its project, and that is an event itself; for its owner what they
    did themselves and the portal did."""
    rows = AuditEvent.objects.about("job", job.pk).order_by("-pk")
    if Permission.TRAIL_READ in rights:
        found = list(rows[:EVENTS])
        trail.record(Action.TRAIL_READ, by=request.user, about=job, project=job.project)
        return found
    if job.owner_id != request.user.pk:
        raise Refused(Permission.TRAIL_READ, Job._meta.label_lower, {"pk": job.pk})
    return list(rows.filter(Q(actor_id=request.user.pk) | Q(actor_id=None))[:EVENTS])


@login_required
@require_safe
def live(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """The part that htmx fetches again after a hint."""
    job = _job(request, pk)
    shown = request.htmx.current_url or ""
    rights = gate.rights_to(job, request.user)
    context = _context(request, job, rights) | {"beside": "tab=" not in shown or "tab=output" in shown}
    return render(request, "jobs/_live_again.html", context)
