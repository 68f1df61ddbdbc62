"""Many jobs asked for at once: all of them or none, in one transaction and a few round trips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.db import IntegrityError, transaction

from access.compiled import insert_all
from accounts.models import User
from audit import trail
from audit.actions import Action
from datasets import services as datasets
from jobs import bells, specs
from jobs.models import Job
from jobs.services import data, dependencies, ending, pace
from jobs.services.asking import KeyReused, cluster_of, facts, made, may_submit, partitions_of, prepare
from projects.models import Project
from quotas import services as quotas
from quotas.models import Allocation

MOST = 200  # jobs of one batch


class Wanted(NamedTuple):
    """One job of a batch, checked."""

    project: Project
    spec: specs.JobSpec
    allocation: Allocation

    @property
    def digest(self) -> str:
        """Of the request."""
        return self.spec.digest(project=self.project.code, allocation=self.allocation.code)


def prepare_all(asked: Iterable[tuple[dict[str, Any], Project | None]], *, by: User | None = None) -> list[Wanted]:
    """Check each as `prepare` does; raises BadSpec with all wrong fields of all of them, as "jobs.3.name"."""
    errors: dict[str, list[str]] = {}
    found, offered, choose = list[Wanted](), cache(partitions_of), cache(quotas.choose)
    for place, (raw, project) in enumerate(asked):
        if project is None:  # what is wrong with its own is known already
            continue
        try:
            found.append(
                Wanted(project, *prepare(raw, project=project, by=by, partitions=offered(project), choose=choose))
            )
        except specs.BadSpec as bad:
            errors |= placed(bad.errors, place)
    if errors:
        raise specs.BadSpec(errors)
    return found


def placed(errors: dict[str, list[str]], place: int) -> dict[str, list[str]]:
    """The wrong fields of one job, as fields of the batch."""
    return {f"jobs.{place}.{field}": said for field, said in errors.items()}


def submit_all(*, wanted: Sequence[Wanted], by: User, idempotency_key: str | None = None) -> list[Job]:
    """Write the requests down; the same key with the same requests gives the same jobs.

    Raises NotNow, TooFast, KeyReused, specs.BadSpec (jobs to wait for that are not there) or quotas.OverAllocation,
    datasets.NotPermitted (`place`: of the first job that does not fit); then none is made.
    """
    keys = [f"{idempotency_key} {place}" if idempotency_key else None for place in range(len(wanted))]
    earlier = _earlier(by, idempotency_key, wanted)
    if earlier:
        return earlier
    for project in {one.project for one in wanted}:
        may_submit(project, by)
    pace.check(by=by)
    for place, one in enumerate(wanted):
        try:
            dependencies.check(one.spec.options, by=by)
        except specs.BadSpec as bad:
            raise specs.BadSpec(placed(bad.errors, place)) from bad
    try:
        return _write(wanted, by, keys)
    except datasets.NotPermitted as refusal:
        one = wanted[refusal.place or 0]
        datasets.refused(reasons=refusal.reasons, wanted=one.spec.datasets, project=one.project, by=by)
        raise
    except (IntegrityError, quotas.OverAllocation):  # or the same batch, a moment ago, took the last of it
        earlier = _earlier(by, idempotency_key, wanted)
        if not earlier:
            raise
        return earlier


def _earlier(by: User, key: str | None, wanted: Sequence[Wanted]) -> list[Job]:
    """The jobs this key made before, in their order. A blank keeps them apart from keys of single jobs."""
    if not key:
        return []
    keys = {f"{key} {place}": place for place in range(MOST)}
    rows = Job.objects.filter(owner=by, idempotency_key__in=keys).select_related("project", "allocation")
    found = sorted(rows, key=lambda job: keys[str(job.idempotency_key)])
    if found and [job.digest for job in found] != [one.digest for one in wanted]:
        raise KeyReused(key)
    return found


@transaction.atomic
def _write(wanted: Sequence[Wanted], by: User, keys: Sequence[str | None]) -> list[Job]:
    cluster = cache(cluster_of)
    jobs = [
        made(
            cluster(one.spec.partition), project=one.project, spec=one.spec, allocation=one.allocation, by=by, key=key,
            digest=one.digest,
        )
        for one, key in zip(wanted, keys, strict=True)
    ]  # fmt: skip
    used = [_permitted(one, place, by) for place, one in enumerate(wanted)]
    for job, theirs in zip(jobs, used, strict=True):
        job.datasets = [one.facts for one in theirs]
    insert_all(jobs)
    trail.record_all(trail.event(Action.JOB_SUBMITTED, by=by, **facts(job)) for job in jobs)
    for job, theirs in zip(jobs, used, strict=True):
        data.declare(job, theirs, by=by)
    _hold(wanted, jobs, by)
    bells.ring(bells.HAND_OVER)
    return jobs


def _permitted(one: Wanted, place: int, by: User) -> list[datasets.Permitted]:
    try:
        return data.permitted(one.spec, project=one.project, by=by)
    except datasets.NotPermitted as refusal:
        refusal.place = place
        raise


def _hold(wanted: Sequence[Wanted], jobs: Sequence[Job], by: User) -> None:
    """Jobs that ask for the same are held together: one check over their sum. Allocations in the order of their ids."""
    alike: dict[tuple[int, int, int, str, str, int, int], list[int]] = {}
    for place, (_project, spec, allocation) in enumerate(wanted):
        size = (spec.options.tasks, spec.options.at_once)
        wish = (allocation.pk, spec.total_gpus, spec.time_limit_minutes, spec.gpu_type, spec.partition, *size)
        alike.setdefault(wish, []).append(place)
    for (_pk, gpus, minutes, gpu_type, partition, tasks, at_once), places in sorted(alike.items()):
        try:
            quotas.hold_all(
                allocation=wanted[places[0]].allocation, references=[str(jobs[place].pk) for place in places],
                gpus=gpus, minutes=minutes, gpu_type=gpu_type, partition=partition, user=by, tasks=tasks,
                at_once=at_once, ends=ending.ends,
            )  # fmt: skip
        except quotas.OverAllocation as over:
            over.place = places[0]
            raise
