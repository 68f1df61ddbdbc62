"""The tables of jobs and of a project's people as CSV; that somebody took one is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from accounts.models import User
from audit import trail
from audit.actions import Action
from jobs.models import Job
from jobs.services import others
from jobs.views.lists import asked_of, is_everybodys, narrowed_as
from jobs.views.project import with_rights
from projects import tables
from projects.models import Membership

CHUNK = 2_000  # rows asked for at a time
WRITTEN = (
    "slurm_job_id", "name", "alias", "note", "state", "owner_login", "partition", "gpus", "gpu_type", "nodes", "cpus",
    "memory_mb", "time_limit_minutes", "created_at", "started_at", "ended_at", "node_list", "exit_code", "exit_signal",
    "options", "source", "owner", "project__code", "project__title", "allocation__code",
)  # fmt: skip


@login_required
@require_GET
def jobs_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """The list as it is filtered, all its pages, each looked at by the gate when its turn comes."""
    asked = asked_of(request) | {"before": None}
    told = {name: str(value) for name, value in asked.items() if value}
    trail.record(Action.REPORT_READ, by=request.user, table="jobs", filter=told)
    head = [
        _("number"), _("name"), _("name given since"), _("note"), _("state"), _("project"), _("login"),
        _("allocation"), _("queue"), _("preset"), _("environment"), _("GPUs per node"), _("GPU type"), _("nodes"),
        _("CPUs per node"), _("memory (MB)"), _("time limit (minutes)"), _("asked at"), _("started"), _("ended"),
        _("duration (seconds)"), _("nodes used"), _("exit code"), _("signal"), _("source"), "id",
    ]  # fmt: skip
    rows = chain.from_iterable(_pages(request.user, asked))
    return tables.of_today("jobs", head, map(_line, rows))


def _pages(user: User, asked: dict[str, Any]) -> Iterator[list[Job | others.Stranger]]:
    """Page after page by keyset: as much memory for a million rows as for one page."""
    while True:
        rows = narrowed_as(user, asked).select_related("project", "allocation").only(*WRITTEN)
        if is_everybodys(asked):
            page = others.lines(rows, by=user, most=CHUNK)
        else:
            page = list(gate.allowing(rows, user, Permission.JOB_VIEW)[:CHUNK])
        yield page
        if len(page) < CHUNK:
            return
        asked = asked | {"before": page[-1].pk}


def _line(job: Job | others.Stranger) -> list[Any]:
    if isinstance(job, others.Stranger):
        return _of_a_stranger(job)
    return [
        job.slurm_job_id, job.name, job.alias, job.note, str(job.view.label), job.project.code, job.owner_login,
        job.allocation.code if job.allocation else "", job.partition, job.options.get("preset", ""),
        job.options.get("software", ""), job.gpus, job.gpu_type, job.nodes, job.cpus, job.memory_mb,
        job.time_limit_minutes, _cell(job.created_at), _cell(job.started_at), _cell(job.ended_at),
        _seconds(job.elapsed_seconds()), job.node_list, job.exit_code, job.exit_signal, job.source, job.pk,
    ]  # fmt: skip


def _of_a_stranger(job: others.Stranger) -> list[Any]:
    """What the page says of it, in the same columns; GPUs are of all nodes there."""
    return [
        "", _("another project's job"), "", "", str(job.view.label) if job.view else "", job.project, job.login, "",
        job.partition, "", "", job.gpus, job.gpu_type, "", "", "", "", _cell(job.created_at), _cell(job.started_at),
        _cell(job.ended_at), _seconds(job.seconds), "", "", "", "", "",
    ]  # fmt: skip


def _seconds(value: float | None) -> int | None:
    return None if value is None else round(value)


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
