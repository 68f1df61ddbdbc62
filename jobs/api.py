"""The API of jobs: list, ask for one, look at one, read its output, ask for its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import Field, Header, Query, Router, Schema, Status

from access import gate
from access.permissions import Permission
from access.typed import Day, Text
from accounts.models import User
from jobs import services
from jobs.api_schemas import BATCH_BODY, REQUEST_BODY, Batch, JobOut, JobPage, asked, asked_together, job_out
from jobs.models import Job
from jobs.services import batches, finding, reading, shapes
from jobs.specs import BadSpec
from jobs.states import OPEN, State
from projects.models import Project

router = Router()
MOST = 200
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=100, pattern=r"^[\x21-\x7e]+$")]


class Filters(Schema):
    """Which jobs; `state` is one word, or `open` for all that are not over; `cursor` an earlier answer's `next`."""

    project: str = Field("", max_length=31, pattern=r"^[^\x00-\x1f]*$")
    state: Literal["", "open", *State.values] = ""  # type: ignore[valid-type]
    mine: bool = False
    owner: Text = Field("", max_length=64, description="Login of who asked.")
    gpu_type: Text = Field("", max_length=40)
    text: Text = Field("", max_length=64, description="In name or note; a whole login is a person's, a number Slurm's.")
    since: Day | None = Field(None, description="Asked for on this day or later, on the site's clock.")
    until: Day | None = Field(None, description="Asked for on this day or earlier.")
    cursor: UUID | None = None
    limit: int = Field(50, ge=1, le=MOST)


class Place(Schema):
    """Which part of which stream: a negative offset counts from the end."""

    stream: Literal["stdout", "stderr"] = "stdout"
    offset: int = Field(0, ge=-(2**63) + 1, le=2**63 - 1)
    limit: int = Field(64 * 1024, ge=0, le=reading.MOST)
    task: int | None = Field(None, ge=0, le=2**31 - 1, description="Of an array: the output of this task.")
    generation: str = Field(
        "", max_length=256, description="X-Log-Generation of an earlier answer: gives no bytes of another writing."
    )


@router.get("", response=JobPage, operation_id="jobs")
def jobs(request: HttpRequest, filters: Query[Filters]) -> dict[str, Any]:
    """The jobs the caller may see, newest first."""
    rows = gate.allowing(Job.objects.with_names(), request.user, Permission.JOB_VIEW)
    if filters.project:
        project = gate.fetch(Project.objects.all(), request.user, Permission.PROJECT_VIEW, code=filters.project)
        rows = rows.filter(project=project)
    elif not filters.mine and (within := finding.only_in(_person(request))) is not None:
        rows = rows.filter(project__in=within)
    if filters.mine:
        rows = rows.filter(owner=_person(request))
    if filters.state:
        rows = rows.filter(phase__in=OPEN) if filters.state == "open" else rows.filter(state=filters.state)
    if filters.text and not finding.is_sought(filters.text):
        raise BadSpec({"text": [_("Search for at least one letter or digit.")]})
    wanted = {name: getattr(filters, name) for name in ("owner", "gpu_type", "text", "since", "until")}
    rows = finding.narrowed(rows, **wanted)
    found = list(cast(Any, rows).before(filters.cursor)[: filters.limit + 1])
    shown = found[: filters.limit]
    return {
        "items": [job_out(row) for row in shown],
        "next": shown[-1].pk if len(found) > filters.limit else None,
    }


@router.post("", response={201: JobOut}, operation_id="submit", openapi_extra=REQUEST_BODY)
def submit(request: HttpRequest, idempotency_key: Key = None) -> Status[dict[str, Any]]:
    """Ask for a job. The same Idempotency-Key with the same request gives the same job, however often it comes."""
    raw, wrong = asked(request)
    if "project" in wrong:
        raise BadSpec(wrong)
    project = gate.fetch(Project.objects, request.user, Permission.JOB_SUBMIT, code=raw["project"])
    try:
        spec, allocation = services.prepare(raw, project=project, by=_person(request))
    except BadSpec as bad:
        raise BadSpec(wrong | bad.errors) from bad
    if wrong:
        raise BadSpec(wrong)
    job = services.submit(
        project=project, spec=spec, allocation=allocation, by=_person(request), idempotency_key=idempotency_key
    )
    return Status(201, job_out(job))


@router.post("/batch", response={201: Batch}, operation_id="submit_batch", openapi_extra=BATCH_BODY)
def submit_batch(request: HttpRequest, idempotency_key: Key = None) -> Status[dict[str, Any]]:
    """Ask for up to 200 jobs at once: all are taken or none is, and every wrong field is named as `jobs.3.name`."""
    wanted = asked_together(request)
    wrong: dict[str, list[str]] = {}
    for place, (_raw, bad) in enumerate(wanted):
        wrong |= batches.placed(bad, place)
    projects = _projects(request, [raw.get("project") for raw, bad in wanted if "project" not in bad])
    try:
        ready = services.prepare_all(
            ((raw, projects.get(raw.get("project", ""))) for raw, _bad in wanted), by=_person(request)
        )
    except BadSpec as bad:
        raise BadSpec(wrong | bad.errors) from bad
    if wrong:
        raise BadSpec(wrong)
    made = services.submit_all(wanted=ready, by=_person(request), idempotency_key=idempotency_key)
    return Status(201, {"items": [job_out(job) for job in made]})


def _projects(request: HttpRequest, codes: Iterable[Any]) -> dict[str, Project]:
    """Each project once; one that is not theirs to submit to ends the whole batch as it ends a single job."""
    return {
        code: gate.fetch(Project.objects, request.user, Permission.JOB_SUBMIT, code=code)
        for code in dict.fromkeys(codes)
    }


@router.get("/{uuid:pk}", response=JobOut, operation_id="job")
def job(request: HttpRequest, pk: UUID) -> dict[str, Any]:
    """One job as it stands."""
    return job_out(shapes.NAMED.fetch(request.user, Permission.JOB_VIEW, pk=pk))


_BYTES = {
    "responses": {
        200: {
            "description": "Bytes of the output from X-Log-Offset on; none where X-Log-State says why.",
            "content": {"text/plain": {"schema": {"type": "string", "format": "binary"}}},
            "headers": {
                "X-Log-State": {"schema": {"type": "string"}, "required": True},
                "X-Log-Size": {"schema": {"type": "integer"}, "required": True},
                "X-Log-Offset": {"schema": {"type": "integer"}, "required": True},
                "X-Log-Generation": {"schema": {"type": "string"}, "required": True},
                "X-Log-Age": {"schema": {"type": "number"}, "required": True},
            },
        }
    }
}


@router.get("/{uuid:pk}/log", operation_id="log", openapi_extra=_BYTES)
def log(request: HttpRequest, pk: UUID, place: Query[Place]) -> HttpResponse:
    """Raw bytes of the job's output. Poll with the offset you have reached: what comes is what was written since."""
    row = reading.fetch_to_take(request.user, pk)
    chunk = reading.read(
        job=row, by=_person(request), stream=place.stream, offset=place.offset, limit=place.limit,
        generation=place.generation, task=place.task,
    )  # fmt: skip
    part = "" if place.task is None else f"_{place.task}"
    return HttpResponse(
        chunk.data,
        content_type="text/plain; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="{row.pk}{part}.{place.stream}.txt"',
            "X-Content-Type-Options": "nosniff",
            "X-Log-State": chunk.state,
            "X-Log-Size": str(chunk.size),
            "X-Log-Offset": str(chunk.offset),
            "X-Log-Generation": chunk.generation,
            "X-Log-Age": f"{chunk.age:.3f}",
        },
    )


@router.post("/{uuid:pk}/cancel", response={202: JobOut}, operation_id="cancel")
def cancel(request: HttpRequest, pk: UUID) -> Status[dict[str, Any]]:
    """Ask for the job's end; it ends when Slurm says so. Asking twice changes nothing."""
    row = shapes.NAMED.fetch(request.user, Permission.JOB_CANCEL, pk=pk)
    services.cancel(job=row, by=_person(request))
    row.refresh_from_db(fields=["cancel_asked_at", "phase", "state"])
    return Status(202, job_out(row))


def _person(request: HttpRequest) -> User:
    """Whoever passed the door."""
    return cast(User, request.user)
