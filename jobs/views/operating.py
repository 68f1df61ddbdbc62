"""A node's page, and what cluster administrators do: nodes out of service and back, windows, announcements."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST, require_safe

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from accounts.http import SignedInRequest
from accounts.models import User
from cluster.forms import AnnouncementForm, ReasonForm, WindowForm
from cluster.models import PARTITIONS, Announcement, Change, Cluster, Gpu, Maintenance, Node, NodeChange
from cluster.services import announcing, operating, outside
from jobs.models import Job
from jobs.services import touched
from jobs.services.gpus import boxes

OUTSIDE_DAYS = timedelta(days=30)
ENDED = 10  # windows and announcements that are over, still listed


def only_operators(request: SignedInRequest) -> None:
    """Raises NotFound for everybody else."""
    if not gate.site_can(request.user, Permission.CLUSTER_OPERATE):
        raise NotFound(Permission.CLUSTER_OPERATE, "cluster.cluster", {})


def the_node(name: str) -> Node:
    """Of the site's cluster. Raises NotFound."""
    found = Node.objects.select_related("cluster").filter(cluster__name=settings.CLUSTER_NAME, name=name).first()
    if found is None:
        raise NotFound(Permission.CLUSTER_VIEW, Node._meta.label_lower, {"name": name})
    return found


@login_required
@require_safe
def node(request: SignedInRequest, name: str) -> HttpResponse:
    """One node: its GPUs, what runs on it that one may see, and for administrators what may be done with it."""
    return render(request, "cluster/node.html", _context(request, the_node(name), ReasonForm()))


def _context(request: SignedInRequest, row: Node, form: ReasonForm) -> dict[str, Any]:
    operates = gate.site_can(request.user, Permission.CLUSTER_OPERATE)
    jobs = touched.on_node(row.name)
    visible = _visible(request.user, jobs)
    gpus = list(Gpu.objects.filter(cluster=row.cluster, node_name=row.name))
    return {
        "node": row, "jobs": [job for job in jobs if job.pk in visible], "hidden": len(jobs) - len(visible),
        "boxes": boxes.of_node(row, gpus, jobs, visible, request.user.pk), "operates": operates, "form": form,
        "pending": NodeChange.objects.filter(cluster=row.cluster, node_name=row.name).order_by("-asked_at").first()
        if operates else None,
        "people": _people(gpus) if operates else {},
    }  # fmt: skip


def _visible(user: User, jobs: list[Job]) -> set[Any]:
    if gate.site_can(user, Permission.JOB_VIEW):
        return {job.pk for job in jobs}
    rows = Job.objects.filter(pk__in=[job.pk for job in jobs])
    return set(gate.allowing(rows, user, Permission.JOB_VIEW).values_list("pk", flat=True)) if jobs else set()


def _people(gpus: list[Gpu]) -> dict[int, str]:
    """Logins of the numbers that use GPUs outside the queue, where they are of people we know."""
    uids = {one["uid"] for gpu in gpus for one in gpu.strangers if one["uid"] is not None}
    known = User.objects.filter(uid_number__in=uids).values_list("uid_number", "username") if uids else ()
    return {uid: login for uid, login in known if uid is not None}


@login_required
@require_POST
def change_node(request: SignedInRequest, name: str, change: str) -> HttpResponse:
    """Drain or resume it; the jobs on it were shown beside the button."""
    only_operators(request)
    row, form = the_node(name), ReasonForm(request.POST)
    if change not in Change.values:
        raise NotFound(Permission.CLUSTER_OPERATE, Node._meta.label_lower, {"change": change})
    if not form.is_valid():
        return render(request, "cluster/node.html", _context(request, row, form), status=422)
    try:
        operating.change_node(
            node=row, change=Change(change), reason=form.cleaned_data["reason"], by=request.user,
            jobs=[job.slurm_job_id for job in touched.on_node(name) if job.slurm_job_id],
        )  # fmt: skip
    except operating.NotNow as no:
        form.add_error("reason", str(no))
        return render(request, "cluster/node.html", _context(request, row, form), status=422)
    messages.success(request, _("Asked of Slurm. The page shows what became of it."))
    return redirect("cluster:node", name)


@login_required
@require_GET
def operate(request: SignedInRequest) -> HttpResponse:
    """Windows and announcements: those in force, the last ones, and forms for new ones."""
    only_operators(request)
    return _desk(request, *_forms(request))


def _forms(request: SignedInRequest, sent: str = "") -> tuple[WindowForm, AnnouncementForm]:
    """Both, one of them with what was sent."""
    partitions = PARTITIONS.all()
    window, news = (request.POST if sent == name else None for name in ("window", "news"))
    return (
        WindowForm(window, prefix="window", partitions=partitions),
        AnnouncementForm(news, prefix="news", partitions=partitions),
    )


def _desk(request: SignedInRequest, window: WindowForm, announcement: AnnouncementForm) -> HttpResponse:
    context = {
        "windows": Maintenance.objects.order_by("-starts_at")[:ENDED], "now": timezone.now(),
        "announcements": Announcement.objects.order_by("-starts_at")[:ENDED],
        "window_form": window, "announcement_form": announcement, **outside_use(),
    }  # fmt: skip
    bad = window.errors or announcement.errors
    return render(request, "cluster/operate.html", context, status=422 if bad else 200)


def outside_use() -> dict[str, Any]:
    """Who used GPUs outside the queue in the last thirty days, with the logins we know."""
    found = outside.totals(timezone.now() - OUTSIDE_DAYS)
    uids = [total.uid for total in found.people if total.uid is not None]
    known = User.objects.filter(uid_number__in=uids).values_list("uid_number", "username") if uids else ()
    return {"outside": found.people, "outside_hours": found.hours, "people": dict(known)}


@login_required
@require_POST
def plan(request: SignedInRequest) -> HttpResponse:
    """A maintenance window as one act: Slurm's reservation, a banner, letters."""
    only_operators(request)
    form, other = _forms(request, "window")
    if not form.is_valid():
        return _desk(request, form, other)
    cluster = get_object_or_404(Cluster, name=settings.CLUSTER_NAME)
    facts = form.cleaned_data
    try:
        operating.plan(cluster=cluster, by=request.user, affected=touched.by_window(facts["node_names"]), **facts)
    except operating.NotNow as no:
        form.add_error("ends_at", str(no))
        return _desk(request, form, other)
    return redirect("cluster:operate")


@login_required
@require_POST
def cancel_window(request: SignedInRequest, pk: int) -> HttpResponse:
    """It will not be."""
    only_operators(request)
    row = Maintenance.objects.select_related("cluster").filter(pk=pk).first()
    if row is None:
        raise NotFound(Permission.CLUSTER_OPERATE, Maintenance._meta.label_lower, {"pk": pk})
    try:
        operating.cancel(window=row, by=request.user)
    except operating.NotNow as no:
        messages.error(request, str(no))
    return redirect("cluster:operate")


@login_required
@require_POST
def announce(request: SignedInRequest) -> HttpResponse:
    """A new announcement."""
    only_operators(request)
    other, form = _forms(request, "news")
    if not form.is_valid():
        return _desk(request, other, form)
    announcing.publish(by=request.user, **form.cleaned_data)
    return redirect("cluster:operate")


def _announcement(pk: int) -> Announcement:
    found = Announcement.objects.filter(pk=pk).first()
    if found is None:
        raise NotFound(Permission.CLUSTER_OPERATE, Announcement._meta.label_lower, {"pk": pk})
    return found


@login_required
@require_POST
def end_announcement(request: SignedInRequest, pk: int) -> HttpResponse:
    """Not shown any more."""
    only_operators(request)
    announcing.end(row=_announcement(pk), by=request.user)
    return redirect("cluster:operate")


@login_required
@require_POST
def dismiss(request: SignedInRequest, pk: int) -> HttpResponse:
    """The reader has read it."""
    announcing.dismiss(row=_announcement(pk), by=request.user)
    return HttpResponse(status=204) if request.htmx else redirect("home")
