"""The API of acts on jobs: one, several after a preview, and what people call a job."""

from __future__ import annotations

from typing import Any, Literal, cast
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Field, Router, Schema, Status

from access.permissions import Permission
from access.typed import Text
from accounts.models import User
from jobs import reasons
from jobs.acts import OF_MANY, Act
from jobs.api_schemas import JobOut, job_out
from jobs.models import Job
from jobs.services import acts, reading, recalling, shapes, waiting
from jobs.services.acts import many
from jobs.specs import BadSpec

router = Router()


class ActAsked(Schema):
    """One act; `minutes` with `extend` alone."""

    act: Literal[tuple(Act.values)]  # type: ignore[valid-type]
    minutes: int = Field(0, ge=0, le=5_256_000, description="The new time limit, with `extend`.")


class ActOutcome(Schema):
    """What came of it; `made` is the job that a rerun made."""

    job: UUID
    ok: bool
    words: str
    made: UUID | None = None


class ActsAsked(Schema):
    """An act on several jobs; with `preview` nothing is done and `words` say what would be."""

    act: Literal[tuple(act.value for act in OF_MANY)]  # type: ignore[valid-type]
    jobs: list[UUID] = Field(min_length=1, max_length=acts.AT_MOST)
    minutes: int = Field(0, ge=0, le=5_256_000, description="The new time limit, with `extend`.")
    preview: bool = False


class ActOutcomes(Schema):
    """One for each of the jobs that the caller may see."""

    items: list[ActOutcome]


class ManifestLine(Schema):
    """One fact; `value` is the word for "hidden" where a variable may hold a secret."""

    section: str
    key: str
    label: str
    value: str


class ManifestOut(Schema):
    """What it takes to run it again exactly; `noted`: the node wrote down what it ran on."""

    noted: bool
    lines: list[ManifestLine]
    repositories: list[dict[str, Any]]


class WhyOut(Schema):
    """Of a job that waits, or, where `waits` is false, how it ended; all empty where there is nothing to explain."""

    waits: bool
    reason: str
    sentence: str
    who: str
    hint: str
    numbers: list[str]


class LabelAsked(Schema):
    """What is left out stays as it is; an empty name is the one it was asked for by."""

    name: Text | None = Field(None, max_length=64)
    note: Text | None = Field(None, max_length=acts.MOST_NOTE)


@router.post("/acts", response=ActOutcomes, operation_id="act_on_jobs")
def act_on_jobs(request: HttpRequest, asked: ActsAsked) -> dict[str, Any]:
    """The same act on several jobs, each for itself, or what it would do to each."""
    wanted, by = Act(asked.act), cast(User, request.user)
    if asked.preview:
        rows = acts.preview(ids=asked.jobs, act=wanted, by=by)
        return {"items": [{"job": job.pk, "ok": verdict.ok, "words": str(verdict.words)} for job, verdict in rows]}
    return {"items": [_out(outcome) for outcome in acts.carry(ids=asked.jobs, act=wanted, by=by, **_detail(asked))]}


@router.post("/{uuid:pk}/acts", response={202: ActOutcome}, operation_id="act_on_job")
def act_on_job(request: HttpRequest, pk: UUID, asked: ActAsked) -> Status[dict[str, Any]]:
    """One act on one job; Slurm does it in a moment. 409 where the job does not stand so that it can be done."""
    job = shapes.NAMED.fetch(request.user, Permission.JOB_VIEW, pk=pk)
    made = many.do(job=job, act=Act(asked.act), by=cast(User, request.user), **_detail(asked))
    return Status(202, _out(acts.Outcome(job, ok=True, made=made)))


@router.get("/{uuid:pk}/manifest", response=ManifestOut, operation_id="job_manifest")
def job_manifest(request: HttpRequest, pk: UUID) -> dict[str, Any]:
    """Request, script by digest, software, GPUs and driver, code with what was not committed, data and variables."""
    found = recalling.told(reading.fetch(request.user, pk))
    return {"noted": found.noted, "lines": found.lines, "repositories": found.repositories}


@router.get("/{uuid:pk}/why", response=WhyOut, operation_id="job_why")
def job_why(request: HttpRequest, pk: UUID) -> dict[str, Any]:
    """Why it waits, with the numbers of this moment, or how it ended: plain words, who can change it, what to try."""
    job = shapes.NAMED.fetch(request.user, Permission.JOB_VIEW, pk=pk)
    found = waiting.why(job)
    reason = found.reason if found else None if job.is_open else reasons.of(job)
    if reason is None:
        return {"waits": False, "reason": "", "sentence": "", "who": "", "hint": "", "numbers": []}
    return {
        "waits": found is not None, "reason": reason.code, "sentence": str(reason.sentence), "who": str(reason.who),
        "hint": str(reason.hint), "numbers": [str(said) for said in found.numbers] if found else [],
    }  # fmt: skip


@router.patch("/{uuid:pk}/label", response=JobOut, operation_id="label_job")
def label_job(request: HttpRequest, pk: UUID, asked: LabelAsked) -> dict[str, Any]:
    """Another name or note; the request itself never changes."""
    job = shapes.NAMED.fetch(request.user, Permission.JOB_CANCEL, pk=pk)
    acts.label(job=job, by=cast(User, request.user), alias=asked.name, note=asked.note)
    return job_out(Job.objects.with_names().get(pk=pk))


def _detail(asked: ActAsked | ActsAsked) -> dict[str, int]:
    if asked.act == Act.EXTEND and not asked.minutes:
        raise BadSpec({"minutes": [_("Give the new time limit in minutes.")]})
    return {"minutes": asked.minutes} if asked.act == Act.EXTEND else {}


def _out(outcome: acts.Outcome) -> dict[str, Any]:
    made = outcome.made.pk if outcome.made else None
    return {"job": outcome.job.pk, "ok": outcome.ok, "words": outcome.words, "made": made}
