"""The list of jobs and the cluster page, which shows its jobs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Count, Subquery
from django.http import HttpResponse
from django.shortcuts import render

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from cluster.models import Node, Partition
from jobs.models import Job, JobQuerySet
from jobs.states import OPEN, State
from projects.models import Project

PAGE = 50
OF_NODE = 500  # running jobs the cluster page reads at the most


@login_required
def jobs(request: SignedInRequest) -> HttpResponse:
    """Jobs the person may see: own by default, a project's on request; newest first."""
    asked = _asked(request)
    rows = list(_filtered(request, asked).before(asked["before"])[: PAGE + 1])
    context = asked | {
        "jobs": rows[:PAGE],
        "older": rows[PAGE - 1].pk if len(rows) > PAGE else None,
        "states": State.choices,
    }
    return render(request, "jobs/_table.html" if request.htmx else "jobs/list.html", context)


def _asked(request: SignedInRequest) -> dict[str, Any]:
    get = request.GET.get
    whose = get("whose", "mine")
    return {
        "project_code": get("project", "")[:40].replace("\x00", ""),
        "state": get("state") if get("state") in (*State.values, "open") else "",
        "whose": whose if whose in ("mine", "all") else "mine",
        "q": get("q", "")[:64],
        "before": _uuid(get("before", "")),
    }


def _uuid(text: str) -> str | None:
    try:
        return str(UUID(text))
    except ValueError:
        return None


def _filtered(request: SignedInRequest, asked: dict[str, Any]) -> JobQuerySet:
    rows: Any = gate.allowing(Job.objects.with_names(), request.user, Permission.JOB_VIEW)
    if asked["whose"] == "mine":
        rows = rows.filter(owner=request.user)
    if asked["project_code"]:
        project = Project.objects.filter(code=asked["project_code"]).values("pk")[:1]
        rows = rows.filter(project=Subquery(project))  # as one value, so that the rows come by their index
    if asked["state"]:
        rows = rows.filter(phase__in=OPEN) if asked["state"] == "open" else rows.filter(state=asked["state"])
    if asked["q"]:
        number = int(asked["q"]) if asked["q"].isascii() and asked["q"].isdigit() else None
        rows = (
            rows.filter(slurm_job_id=number) if number else rows.filter(name__icontains=asked["q"].replace("\x00", ""))
        )
    return rows


@login_required
def cluster(request: SignedInRequest) -> HttpResponse:
    """Nodes, their GPUs, the partitions and their queues, as last seen."""
    busy = Job.objects.filter(state__in=(State.RUNNING, State.ENDING)).open().with_names()
    running = list(gate.allowing(busy, request.user, Permission.JOB_VIEW).order_by("-pk")[:OF_NODE])
    waiting = Job.objects.filter(state=State.WAITING).open().order_by().values_list("partition")
    queue = dict(waiting.annotate(n=Count("pk")))
    nodes = list(Node.objects.all())
    partitions = [
        {"row": row, "waiting": queue.get(row.name, 0), "nodes": [n for n in nodes if n.name in row.node_names]}
        for row in Partition.objects.all()
    ]
    return render(
        request,
        "cluster/overview.html",
        {
            "nodes": nodes,
            "partitions": partitions,
            "running": running,
            "own_running": [job for job in running if job.owner_id == request.user.pk],
        },
    )
