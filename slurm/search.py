"""Find a job by its token in slurmctld and in slurmdbd; "nowhere" only if both answered and nothing is under way."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from slurm.contract import JobRecord, Unanswered


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """`since` in whole seconds, as Slurm counts."""

    comment: str
    uid: int
    account: str
    since: datetime

    def may_be(self, record: JobRecord) -> bool:
        """By the fields of a bulk read."""
        return (record.uid, record.account) == (self.uid, self.account) and record.submit_time >= self.since

    def is_this(self, record: JobRecord | None) -> bool:
        return record is not None and self.may_be(record) and self.comment in (record.admin_comment, record.comment)


class Reads(Protocol):
    """The part of a gateway this needs."""

    def job(self, job_id: int, *, as_user: str | None = None) -> JobRecord | None: ...

    def jobs(self) -> Sequence[JobRecord]: ...

    def accounting_of(self, account: str, since: datetime) -> Sequence[JobRecord]: ...

    def accounting_details(self, account: str, since: datetime, uid: int) -> Sequence[JobRecord]: ...

    def accounting_backlog(self) -> int: ...


def find(reads: Reads, wanted: Wanted) -> Sequence[JobRecord]:
    """slurmctld first: a job that leaves it during the search is in slurmdbd by then."""
    present = _in_slurmctld(reads, wanted)
    past = _in_slurmdbd(reads, wanted)
    known = {(record.job_id, record.array_task) for record in present}
    found = present + [record for record in past if (record.job_id, record.array_task) not in known]
    if not found and reads.accounting_backlog():
        raise Unanswered("slurmctld still has records to hand to slurmdbd: not there yet is not the same as not there")
    return found


def _in_slurmctld(reads: Reads, wanted: Wanted) -> list[JobRecord]:
    candidates = {record.job_id for record in reads.jobs() if wanted.may_be(record)}
    records = (reads.job(job_id) for job_id in sorted(candidates))
    return [record for record in records if record is not None and wanted.is_this(record)]


def _in_slurmdbd(reads: Reads, wanted: Wanted) -> list[JobRecord]:
    """By uid from the text first: slurmdbd's JSON knows only names, and holds the comment."""
    rows = {
        (record.job_id, record.array_task, record.submit_time)
        for record in reads.accounting_of(wanted.account, wanted.since)
        if wanted.may_be(record)
    }
    if not rows:
        return []
    details = reads.accounting_details(wanted.account, wanted.since, wanted.uid)
    mine = [record for record in details if (record.job_id, record.array_task, record.submit_time) in rows]
    return _latest(record for record in mine if wanted.is_this(record))


def _latest(records: Iterable[JobRecord]) -> list[JobRecord]:
    """One record a job: its last run."""
    by_job = {(record.job_id, record.array_task): record for record in sorted(records, key=lambda one: one.submit_time)}
    return list(by_job.values())
