"""The tables of jobs and of a project's people as CSV; that somebody took one is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from audit import trail
from audit.actions import Action
from jobs.models import Job
from jobs.states import State
from jobs.views.lists import asked_of, narrowed_as
from jobs.views.project import with_rights
from projects import tables
from projects.models import Membership

MOST = 100_000  # rows of one file
JOB = (
    "slurm_job_id", "name", "state", "project__code", "owner_login", "allocation__code", "partition", "gpus",
    "gpu_type", "nodes", "cpus", "memory_mb", "time_limit_minutes", "created_at", "started_at", "ended_at",
    "exit_code", "source",
)  # fmt: skip


@login_required
@require_GET
def jobs_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """The list as it is filtered, all its pages."""
    asked = asked_of(request)
    told = {name: str(value) for name, value in asked.items() if value}
    trail.record(Action.REPORT_READ, by=request.user, table="jobs", filter=told)
    head = [
        _("number"), _("name"), _("state"), _("project"), _("login"), _("allocation"), _("queue"), _("GPUs per node"),
        _("GPU type"), _("nodes"), _("CPUs per node"), _("memory (MB)"), _("time limit (minutes)"), _("asked at"),
        _("started"), _("ended"), _("exit code"), _("source"),
    ]  # fmt: skip
    rows = gate.allowing(narrowed_as(request.user, asked), request.user, Permission.JOB_VIEW)
    return tables.response(f"bancada-jobs-{timezone.localdate():%Y-%m-%d}.csv", head, _jobs(rows))


def _jobs(rows: QuerySet[Job]) -> Iterator[list[Any]]:
    labels = dict(State.choices)
    for row in rows.values_list(*JOB)[:MOST].iterator(chunk_size=1000):
        number, name, state, *rest = row
        yield [number, name, str(labels.get(state, state)), *(_cell(value) for value in rest)]


def _cell(value: Any) -> Any:
    return value.isoformat(timespec="seconds") if hasattr(value, "isoformat") else value


@login_required
@require_GET
def people_csv(request: SignedInRequest, code: str) -> StreamingHttpResponse:
    """Who is in the project; for who may manage its people, all who ever were, and why. `person`: of one alone."""
    project = with_rights(request.user, Permission.PROJECT_VIEW, code=code)
    person = request.GET.get("person", "")[:150].replace("\x00", "")
    trail.record(Action.REPORT_READ, by=request.user, project=project, table="people")
    rows = Membership.objects.filter(project=project).select_related("user", "by", "ended_by").order_by("pk")
    rows = rows.filter(user__username=person) if person else rows
    head = [_("login"), _("name"), _("role"), _("from"), _("until")]
    if not project.may_manage:
        shown = rows.filter(pk__in=Membership.objects.active().filter(project=project).values("pk"))
        return tables.response(f"bancada-{code}-people.csv", head, map(_member, shown.iterator(chunk_size=500)))
    head += [_("by"), _("ended by"), _("reason"), _("reason of the end")]
    return tables.response(f"bancada-{code}-people.csv", head, map(_person, rows.iterator(chunk_size=500)))


def _member(row: Membership) -> list[Any]:
    return [row.user.username, row.user.name, row.get_role_display(), _cell(row.starts_at), _cell(row.ends_at)]


def _person(row: Membership) -> list[Any]:
    by, ended_by = row.by.name if row.by else "", row.ended_by.name if row.ended_by else ""
    return [*_member(row), by, ended_by, row.why, row.ended_why]
