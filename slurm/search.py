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
    """The facts from the text, which has the uid and the true exit code; the comments from slurmdbd's JSON."""
    rows = {_key(row): row for row in reads.accounting_of(wanted.account, wanted.since) if wanted.may_be(row)}
    if not rows:
        return []
    details = reads.accounting_details(wanted.account, wanted.since, wanted.uid)
    whole = [_with_words(rows[_key(detail)], detail) for detail in details if _key(detail) in rows]
    return _latest(record for record in whole if wanted.is_this(record))


def _key(record: JobRecord) -> tuple[int, int | None, datetime]:
    return (record.job_id, record.array_task, record.submit_time)


def _with_words(row: JobRecord, detail: JobRecord) -> JobRecord:
    return dataclasses.replace(
        row,
        name=detail.name,
        comment=detail.comment,
        admin_comment=detail.admin_comment,
        working_directory=detail.working_directory,
    )


def _latest(records: Iterable[JobRecord]) -> list[JobRecord]:
    """One record a job: its last run."""
    by_job = {(record.job_id, record.array_task): record for record in sorted(records, key=lambda one: one.submit_time)}
    return list(by_job.values())
