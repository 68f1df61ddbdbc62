"""Work from outside that ran and ended unseen, by Slurm's accounting: the follower was away, slurmctld forgot it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from django.db.models import Min
from django.utils import timezone

from cluster.models import Cluster
from jobs.models import Handover, HandoverOutcome
from jobs.services import discovery
from jobs.states import is_over
from projects.models import Project
from slurm.contract import Gateway, JobRecord

LATE = timedelta(hours=1)  # slurmctld may owe slurmdbd what has ended meanwhile
FIRST = timedelta(days=1)  # so far back goes the first look
LAST = datetime.max.replace(tzinfo=UTC)
A_SECOND = timedelta(seconds=1)  # Slurm's times are whole ones
Number = tuple[int, int | None, int]  # Slurm's number, array task, uid: the same for all runs of a job


def catch_up(gateway: Gateway, cluster: Cluster) -> int:
    """Take in what ended since the last look and is not known; how many jobs that were.

    Without a name: accounting's bulk read has no free text.
    """
    began = timezone.now()
    since = (cluster.accounting_seen_at or began - FIRST) - LATE
    taken = discovery.take_in(cluster, _unseen(cluster, gateway.accounting(since=since)))
    cluster.accounting_seen_at = began
    cluster.save(update_fields=["accounting_seen_at"])
    return taken


def _unseen(cluster: Cluster, records: Iterable[JobRecord]) -> list[discovery.Stranger]:
    """Jobs under our accounts that ran, are over, and have no hand-over: each with all its runs, the last one last."""
    projects = {row.slurm_account: row for row in Project.objects.all()}
    runs: dict[Number, list[JobRecord]] = defaultdict(list)
    for record in records:
        if record.account in projects and record.start_time is not None:
            runs[record.job_id, record.array_task, record.uid].append(record)
    over = {number: sorted(own, key=_place) for number, own in runs.items() if is_over(max(own, key=_place).states)}
    known = _known(cluster, over) if over else set()
    making = _making(cluster) if over else {}
    return [
        discovery.Stranger(projects[own[-1].account], own[-1], tuple(own[:-1]))
        for number, own in over.items()
        if not known & {number, (number[0], None, number[2])}
        and own[-1].submit_time + A_SECOND < making.get(own[-1].uid, LAST)
    ]


def _array(number: Number) -> Number:
    """Under which a task of an array asked for here is known."""
    job_id, _task, uid = number
    return job_id, None, uid


def _place(run: JobRecord) -> tuple[int, float]:
    return run.restart_count, run.submit_time.timestamp()


def _known(cluster: Cluster, over: dict[Number, list[JobRecord]]) -> set[Number]:
    """Those that have a row. Slurm gives a number again, but not within the window that is looked at."""
    oldest = min(own[0].submit_time for own in over.values()) - timedelta(days=30)
    rows = Handover.objects.filter(
        cluster=cluster, slurm_job_id__in={number[0] for number in over}, submit_time__gte=oldest
    )
    return {
        (job_id or 0, task, uid or 0) for job_id, task, uid in rows.values_list("slurm_job_id", "array_task", "uid")
    }


def _making(cluster: Cluster) -> dict[int | None, datetime]:
    """By uid, since when an attempt has no outcome: what appeared since may be it, and is settled first."""
    rows = Handover.objects.filter(cluster=cluster, outcome__in=(HandoverOutcome.TRYING, HandoverOutcome.UNKNOWN))
    return dict(rows.values_list("job__owner__uid_number").annotate(since=Min("began_at")).order_by())
