"""One look at the cluster for everybody: what Slurm says goes onto our rows, what must be done becomes an intent.

The follower never acts on Slurm. Present, absent and unknown are three things: absent needs slurmctld and slurmdbd
to agree, and an unreachable scheduler changes no job.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import Count, Q, Sum
from django.utils import timezone

from audit import trail
from audit.actions import Action, Outcome
from cluster.models import Cluster
from jobs import bells
from jobs.models import Handover, HandoverOutcome, IntentKind, Job, Phase
from jobs.services import afterwards, arrays, data, discovery, outcomes, recording
from jobs.states import State, is_over
from quotas import services as quotas
from slurm.contract import Gateway, JobRecord, SlurmError, Unanswered

log = structlog.get_logger(__name__)
ABANDONED_AFTER = timedelta(seconds=60)  # twice handing.BUDGET: no living worker still works on it
SETTLE = timedelta(seconds=30)  # of good answers, before "not there" counts
AT_A_TIME = 100  # rows of one transaction
NEVER = datetime.fromtimestamp(0, UTC)
Key = tuple[int, int | None, datetime, int]  # Slurm's number, array task, submit time, uid


def key_of(record: JobRecord) -> Key:
    """What names one job of Slurm for ever: the number alone comes back for somebody else."""
    return (record.job_id, record.array_task, record.submit_time, record.uid)


def key_of_row(row: Handover) -> Key:
    """The same of our row: by the submit time of its latest run."""
    return (row.slurm_job_id or 0, row.array_task, row.run_submit_time or NEVER, row.uid or 0)


def look_at_jobs(gateway: Gateway, cluster: Cluster) -> frozenset[Key]:
    """One bulk read: move our jobs on, find the unknown ones, settle what is not shown any more.

    The keys of what runs, anybody's: when that changes, the nodes have changed too.
    """
    began = timezone.now()
    records = {key_of(record): record for record in gateway.jobs()}
    _answered(cluster, began)
    found, tasks = arrays.look(cluster, records)
    handovers, settled = _ours(cluster, {key: record for key, record in records.items() if key not in tasks})
    observe_all([(handovers[key], record) for key, record in records.items() if key in handovers])
    observe_arrays(found)
    whole = [one.handover for one in found if one.complete]
    _shown_again([*handovers.values(), *whole])
    release_forgotten((one.handover, one.record) for one in found)
    release_forgotten((handovers[key], record) for key, record in records.items() if key in handovers)
    known = settled | handovers.keys() | tasks
    discovery.meet(gateway, cluster, [record for key, record in records.items() if key not in known])
    abandon(cluster)
    _or_later(lambda: settle_unknown(gateway, cluster))
    shown = set(records) | {key_of_row(row) for row in whole}
    _or_later(lambda: settle_missing(gateway, cluster, began, shown))
    return frozenset(key for key, record in records.items() if "RUNNING" in record.states)


def _or_later(settle: Callable[[], None]) -> None:
    """The accounting may not answer while slurmctld does: then nothing is settled, and the picture is still good."""
    try:
        settle()
    except SlurmError as error:
        log.info("not settled yet", why=str(error))


def _answered(cluster: Cluster, at: datetime) -> None:
    cluster.jobs_seen_at, cluster.last_error = at, ""
    cluster.answering_since = cluster.answering_since or at
    cluster.save(update_fields=["jobs_seen_at", "last_error", "answering_since"])


def silent(cluster: Cluster, why: str) -> None:
    """Slurm did not answer: the picture grows old, and no job changes."""
    cluster.answering_since, cluster.last_error = None, why[:300]
    cluster.save(update_fields=["answering_since", "last_error"])


def _ours(cluster: Cluster, records: dict[Key, JobRecord]) -> tuple[dict[Key, Handover], set[Key]]:
    """The rows that may move, and the keys of what is over both here and there: Slurm shows it for minutes more."""
    numbers = {record.job_id for record in records.values()}
    rows = Handover.objects.filter(cluster=cluster, slurm_job_id__in=numbers)
    ended = rows.filter(job__phase=Phase.ENDED).only("slurm_job_id", "array_task", "run_submit_time", "uid")
    over = {key_of_row(row): row.pk for row in ended}
    over = {key: pk for key, pk in over.items() if key in records and is_over(records[key].states)}
    moving = rows.exclude(pk__in=over.values()).select_related("job").defer("job__script")
    found = {key_of_row(row): row for row in moving}
    return {key: found[key] for key in records if key in found}, set(over)


def _shown_again(handovers: Iterable[Handover]) -> None:
    """What slurmctld shows is not missing (any more)."""
    back = [row.pk for row in handovers if row.looked_at and row.outcome == HandoverOutcome.ACCEPTED]
    if back:
        Handover.objects.filter(pk__in=back).update(looked_at=None)


def release_forgotten(seen: Iterable[tuple[Handover, JobRecord]]) -> None:
    """A worker that ended between recording a job and releasing it leaves it held: nobody else's hold is ended."""
    late = timezone.now() - ABANDONED_AFTER
    for row, record in seen:
        ours = row.released_at is None and row.accepted_at is not None and row.accepted_at < late
        if ours and record.reason.startswith("JobHeld"):
            outcomes.intend(row, IntentKind.RELEASE)


def observe(handover: Handover, record: JobRecord) -> None:
    """What Slurm says of one of our jobs; a row is written only where a fact has changed."""
    observe_all([(handover, record)])


def observe_all(seen: Iterable[tuple[Handover, JobRecord]]) -> None:
    """The same of many: what changed is written down a hundred at a time."""
    changed = [(handover, record) for handover, record in seen if recording.apply(handover.job, record)]
    for first in range(0, len(changed), AT_A_TIME):
        _write_down(changed[first : first + AT_A_TIME])


def observe_arrays(found: Iterable[arrays.Look]) -> None:
    """The same of arrays, whose tasks are kept already."""
    for one in found:
        if recording.apply(one.handover.job, one.record, one.counts):
            _write_down([(one.handover, one.record)], one.counts)


@transaction.atomic
def _write_down(changed: list[tuple[Handover, JobRecord]], counts: dict[str, int] | None = None) -> None:
    """Rows are locked in the order of their ids, as everybody does who locks several."""
    rows = Job.objects.select_for_update(of=("self",)).select_related("project", "cancel_asked_by").defer("script")
    jobs = {row.pk: row for row in rows.filter(pk__in=[row.job_id for row, _record in changed]).order_by("pk")}
    moved = []
    for handover, record in changed:
        job = jobs[handover.job_id]
        before = job.state
        recording.note_run(handover, record)
        if recording.apply(job, record, counts):
            moved.append((job, before, record))
    recording.save_all([job for job, _before, _record in moved])
    for job, before, record in moved:
        recording.tell_story(job, before, record)
        recording.settle_hold(job)
        data.follow(job)
        if before == State.LOST and job.is_open:
            quotas.take_again(reference=str(job.pk))
    afterwards.due(job for job, before, _record in moved if before != job.state)
    if any(record.restart_count for _job, _before, record in moved):
        bells.ring(bells.RENEW_TICKETS)  # another run writes the output anew


def abandon(cluster: Cluster) -> None:
    """An attempt no worker can still be working on is unknown: it may or may not have reached Slurm."""
    late = timezone.now() - ABANDONED_AFTER
    rows = Handover.objects.filter(cluster=cluster, outcome=HandoverOutcome.TRYING, began_at__lt=late)
    for pk in list(rows.values_list("pk", flat=True)):
        with transaction.atomic():
            row = Handover.objects.select_for_update(of=("self",)).select_related("job__project").get(pk=pk)
            if row.outcome == HandoverOutcome.TRYING:
                outcomes.unknown(row, "the worker was interrupted")


def settle_unknown(gateway: Gateway, cluster: Cluster) -> None:
    """Look for the token of each unknown attempt in both daemons: adopt what is there, send again what is not."""
    since = cluster.answering_since
    rows = Handover.objects.filter(cluster=cluster, outcome=HandoverOutcome.UNKNOWN).select_related("job__owner")
    for row in rows.select_related("job__project"):
        uid = (row.job.owner.uid_number or 0) if row.job.owner else 0
        earliest = row.began_at - timedelta(seconds=2)
        try:
            found = gateway.find(comment=row.comment, uid=uid, account=row.job.project.slurm_account, since=earliest)
        except Unanswered as error:  # about this one; of the others more may be known
            log.info("not settled yet", handover=str(row.pk), why=str(error))
            continue
        _settle_one(row, list(found), since)


@transaction.atomic
def _settle_one(row: Handover, found: list[JobRecord], since: datetime | None) -> None:
    now = timezone.now()
    if found:
        first, *others = sorted(found, key=lambda record: record.job_id)
        others = [one for one in others if one.job_id != first.job_id]  # tasks of one array
        row.slurm_job_id, row.submit_time, row.uid = first.job_id, first.submit_time, first.uid
        outcomes.intend(row, IntentKind.ADOPT)
        for other in others:
            discovery.discard(row, other)
    elif since is not None and now - max(since, row.began_at) > SETTLE and row.looked_at is not None:
        outcomes.intend(row, IntentKind.RESUBMIT)
    Handover.objects.filter(pk=row.pk).update(looked_at=now)


def settle_missing(gateway: Gateway, cluster: Cluster, began: datetime, shown: set[Key]) -> None:
    """Accepted jobs that slurmctld does not show any more: the accounting says how they ended."""
    rows = Handover.objects.filter(
        cluster=cluster, outcome=HandoverOutcome.ACCEPTED, job__phase=Phase.ACCEPTED, accepted_at__lt=began
    ).select_related("job")
    gone = {key_of_row(row): row for row in rows if key_of_row(row) not in shown}
    if not gone:
        return
    oldest = min(row.began_at for row in gone.values()) - timedelta(minutes=5)
    by_key: dict[Key, list[JobRecord]] = defaultdict(list)
    for record in gateway.accounting(since=oldest, job_ids=[row.slurm_job_id or 0 for row in gone.values()]):
        by_key[key_of(record)].append(record)
    for key, row in gone.items():
        if row.job.is_array:
            tasks = [one for records in by_key.values() for one in records if arrays.is_task(row, one)]
            _array_from_accounting(row, tasks, cluster)
        else:
            _from_accounting(row, by_key.get(key, []), cluster)


def _array_from_accounting(row: Handover, tasks: list[JobRecord], cluster: Cluster) -> None:
    """Which tasks ended and how. What runs is on the next look's list again; what nobody knows is not waited for."""
    late = _is_late(row, cluster)
    if late and not tasks and not row.runs.exists():
        lose(row)
        return
    found = arrays.from_accounting(row, tasks, certain=late)
    if found.complete:
        observe_arrays([found])


def _from_accounting(row: Handover, runs: list[JobRecord], cluster: Cluster) -> None:
    """How it ended; or, where slurmdbd knows no end and slurmctld goes on not showing it, that it is lost."""
    for record in sorted(runs, key=lambda run: (run.restart_count, run.start_time or run.submit_time)):
        observe(row, record)
    if any(is_over(record.states) for record in runs):
        return
    if _is_late(row, cluster):
        lose(row)


def _is_late(row: Handover, cluster: Cluster) -> bool:
    """Whether both have answered for long enough without it; the first time, the clock starts."""
    now = timezone.now()
    if row.looked_at is None:
        Handover.objects.filter(pk=row.pk).update(looked_at=now)
        return False
    return bool(cluster.answering_since) and now - max(row.looked_at, cluster.answering_since or now) > SETTLE


@transaction.atomic
def lose(row: Handover) -> None:
    """Both daemons answered and neither has it: accepted once, then lost with the controller's memory."""
    job = Job.objects.select_for_update(of=("self",)).select_related("project").defer("script").get(pk=row.job_id)
    if job.phase != Phase.ACCEPTED:
        return
    job.ended_at = timezone.now()
    recording.move(job, Phase.LOST)
    data.follow(job)
    quotas.release(reference=str(job.pk))
    trail.record(Action.JOB_LOST, about=job, project=job.project, outcome=Outcome.FAILED, slurm_job_id=row.slurm_job_id)


@dataclasses.dataclass(frozen=True, slots=True)
class Pulse:
    """What is under way, so that a change of it can be seen: jobs not over, of these on their way, their changes."""

    open: int
    on_their_way: int
    changes: int | None


def pulse(cluster: Cluster) -> Pulse:
    """How it beats now; by our own rows, so it costs Slurm nothing."""
    on_their_way = Count("pk", filter=~Q(phase=Phase.ACCEPTED))
    counts = Job.objects.filter(cluster=cluster).open().aggregate(a=Count("pk"), b=on_their_way, c=Sum("change"))
    return Pulse(counts["a"], counts["b"], counts["c"])
