"""An act on several jobs at once: what would happen to each, and then each for itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

from access import gate
from access.permissions import Permission
from accounts.models import User
from jobs.acts import Act, Verdict, judge
from jobs.models import Job
from jobs.services import repeating
from jobs.services.acts import labels
from jobs.services.acts.asking import NotPossible, ask, rights_of, rights_of_all

AT_MOST = 200


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one; `made` is the new job of a rerun."""

    job: Job
    ok: bool
    words: str = ""
    made: Job | None = None


def chosen(by: User, ids: Iterable[UUID]) -> list[Job]:
    """Those of them that the person may see, newest first; the rest is not told of."""
    rows = Job.objects.with_names().filter(pk__in=list(dict.fromkeys(ids))[:AT_MOST]).order_by("-pk")
    return list(gate.allowing(rows, by, Permission.JOB_VIEW))


def preview(*, ids: Iterable[UUID], act: Act, by: User) -> list[tuple[Job, Verdict]]:
    """What the act would do to each, as they stand now."""
    jobs = chosen(by, ids)
    rights = rights_of_all(jobs, by)
    return [(job, judge(_with_script(job), act, rights[job.pk])) for job in jobs]


def _with_script(job: Job) -> Job:
    """Only whether there is one counts: lists are read without scripts."""
    if "script" in job.get_deferred_fields():
        job.script = "" if job.is_outside else "#!"
    return job


def carry(*, ids: Sequence[UUID], act: Act, by: User, **detail: Any) -> list[Outcome]:
    """Each for itself: one that is not possible keeps no other from being done. `detail`: {"minutes"} for EXTEND."""
    return [one(job=job, act=act, by=by, **detail) for job in chosen(by, ids)]


def one(*, job: Job, act: Act, by: User, **detail: Any) -> Outcome:
    """The act on one job; what is against it comes back as words."""
    try:
        made = do(job=job, act=act, by=by, **detail)
    except (NotPossible, repeating.NotAgain) as error:
        return Outcome(job, ok=False, words=str(error))
    return Outcome(job, ok=True, made=made)


def do(*, job: Job, act: Act, by: User, **detail: Any) -> Job | None:
    """The act; the new job of a rerun. Raises NotPossible and repeating.NotAgain."""
    return _DOES.get(act, _on_slurm)(job, act, by, **detail)


def _on_slurm(job: Job, act: Act, by: User, **detail: Any) -> None:
    ask(job=job, act=act, by=by, **detail)


def _judged(job: Job, act: Act, by: User) -> None:
    verdict = judge(_with_script(job), act, rights_of(job, by))
    if not verdict.ok:
        raise NotPossible(str(verdict.words))


def _archive(job: Job, act: Act, by: User) -> None:
    _judged(job, act, by)
    labels.archive(job=job, by=by, away=act is Act.ARCHIVE)


def _star(job: Job, act: Act, by: User) -> None:
    labels.star(job=job, by=by, on=act is Act.STAR)


def _rerun(job: Job, act: Act, by: User) -> Job:
    _judged(job, act, by)
    return repeating.again(job=job, by=by)


_DOES: dict[Act, Callable[..., Job | None]] = {
    Act.ARCHIVE: _archive, Act.UNARCHIVE: _archive, Act.STAR: _star, Act.UNSTAR: _star, Act.RERUN: _rerun,
}  # fmt: skip
