"""Finding a job by its token: both daemons asked, nothing taken for absence that is not."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from slurm import search
from slurm.contract import JobRecord, SlurmError, Unanswered, Unreachable

SINCE = datetime(2026, 12, 2, 1, 0, tzinfo=UTC)
TOKEN = "bancada:" + "0" * 32
WANTED = search.Wanted(TOKEN, 20004, "visao", SINCE)
JOB = JobRecord(
    job_id=7, submit_time=SINCE, uid=20004, states=frozenset({"PENDING"}), account="visao", partition="gpu",
    comment=TOKEN, admin_comment=TOKEN,
)  # fmt: skip
PAST = dataclasses.replace(JOB, states=frozenset({"COMPLETED"}), from_accounting=True, exit_code=0)


@dataclasses.dataclass
class Daemons:
    """slurmctld's jobs, slurmdbd's rows and the words slurmdbd has for them."""

    present: Sequence[JobRecord] = ()
    past: Sequence[JobRecord] = ()
    words: Sequence[JobRecord] | None = None
    backlog: int = 0
    ctld_error: SlurmError | None = None
    dbd_error: SlurmError | None = None
    gone: frozenset[int] = frozenset()

    def jobs(self) -> Sequence[JobRecord]:
        if self.ctld_error:
            raise self.ctld_error
        return [dataclasses.replace(job, comment="", admin_comment="") for job in self.present]

    def job(self, job_id: int, *, as_user: str | None = None) -> JobRecord | None:
        return None if job_id in self.gone else next((job for job in self.present if job.job_id == job_id), None)

    def accounting_of(self, account: str, since: datetime) -> Sequence[JobRecord]:
        if self.dbd_error:
            raise self.dbd_error
        return [dataclasses.replace(row, comment="", admin_comment="") for row in self.past]

    def accounting_details(self, account: str, since: datetime, uid: int) -> Sequence[JobRecord]:
        return self.past if self.words is None else self.words

    def accounting_backlog(self) -> int:
        return self.backlog


def found(daemons: Daemons) -> list[int]:
    return [record.job_id for record in search.find(daemons, WANTED)]


def test_in_either_or_both() -> None:
    assert found(Daemons(present=[JOB])) == [7]
    assert found(Daemons(past=[PAST])) == [7]
    (record,) = search.find(Daemons(present=[JOB], past=[PAST]), WANTED)
    assert not record.from_accounting
    assert found(Daemons()) == []


@pytest.mark.parametrize(
    "other",
    [
        {"uid": 20005},
        {"account": "atlas"},
        {"submit_time": SINCE - timedelta(seconds=1)},
        {"comment": "", "admin_comment": ""},
        {"comment": "bancada:" + "1" * 32, "admin_comment": ""},
    ],
)
def test_another_job_is_not_this_one(other: dict[str, object]) -> None:
    assert found(Daemons(present=[dataclasses.replace(JOB, **other)])) == []  # type: ignore[arg-type]
    assert found(Daemons(past=[dataclasses.replace(PAST, **other)])) == []  # type: ignore[arg-type]


def test_either_comment_will_do() -> None:
    assert found(Daemons(present=[dataclasses.replace(JOB, admin_comment="")])) == [7]
    assert found(Daemons(present=[dataclasses.replace(JOB, comment="rewritten by its owner")])) == [7]


def test_one_silent_daemon_is_enough_to_know_nothing() -> None:
    for error in (Unreachable("down"), Unanswered("slow")):
        with pytest.raises(type(error)):
            found(Daemons(present=[JOB], dbd_error=error))
        with pytest.raises(type(error)):
            found(Daemons(past=[PAST], ctld_error=error))


def test_absent_only_once_slurmdbd_has_been_told_everything() -> None:
    with pytest.raises(Unanswered, match="slurmdbd"):
        found(Daemons(backlog=3))
    assert found(Daemons(present=[JOB], backlog=3)) == [7]


def test_a_job_that_leaves_slurmctld_during_the_search() -> None:
    assert found(Daemons(present=[JOB], gone=frozenset({7}), past=[PAST])) == [7]


def test_two_copies_are_both_found() -> None:
    assert found(Daemons(present=[JOB, dataclasses.replace(JOB, job_id=9)])) == [7, 9]


def test_of_several_runs_the_last() -> None:
    again = dataclasses.replace(PAST, submit_time=SINCE + timedelta(seconds=90), exit_code=5)
    (record,) = search.find(Daemons(past=[again, PAST]), WANTED)
    assert record.exit_code == 5


def test_the_facts_are_the_texts_and_the_words_the_jsons() -> None:
    said = dataclasses.replace(PAST, exit_code=None, name="train", working_directory="/srv")
    (record,) = search.find(Daemons(past=[dataclasses.replace(PAST, exit_code=3)], words=[said]), WANTED)
    assert (record.exit_code, record.name, record.working_directory) == (3, "train", "/srv")


def test_words_of_another_row_with_the_same_number_are_not_taken() -> None:
    said = dataclasses.replace(PAST, submit_time=SINCE + timedelta(days=30))
    assert found(Daemons(past=[PAST], words=[said])) == []
