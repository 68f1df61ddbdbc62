"""Reservations: lines as three releases print them, and lines nobody may believe."""

from datetime import UTC, datetime

import pytest

from slurm import reserved
from slurm.contract import ReservationRecord, Unanswered

TAIL = "Licenses=(null) State=INACTIVE BurstBuffer=(null) MaxStartDelay=(null)"
PLAIN = (
    "ReservationName=course.1 StartTime=1796399151 EndTime=1796402751 Duration=01:00:00 Nodes=gpu[01-02] NodeCnt=2 "
    "CoreCnt=32 Features=(null) PartitionName=gpu Flags=DAILY TRES=cpu=32 {}Users={} Groups=(null) Accounts={} {}"
)


@pytest.mark.parametrize(
    ("more", "tail"),
    [
        ("", f"{TAIL.replace('MaxStart', 'Watts=n/a MaxStart')}"),
        ("", TAIL),
        ("AllowedPartitions=(null) QOS=(null) ", TAIL),
        ("", f"{TAIL} Comment=for Users=root Accounts=x"),
    ],
)
def test_each_releases_line(more: str, tail: str) -> None:
    (seen,) = reserved.parse(PLAIN.format(more, "(null)", "visao,atlas", tail) + "\n")
    start, end = datetime.fromtimestamp(1796399151, UTC), datetime.fromtimestamp(1796402751, UTC)
    assert seen == ReservationRecord("course.1", start, end, ("gpu01", "gpu02"), (), ("visao", "atlas"), False)


def test_a_window() -> None:
    line = PLAIN.format("", "root,davi", "(null)", TAIL).replace("DAILY", "MAINT,IGNORE_JOBS,SPEC_NODES")
    (seen,) = reserved.parse(f"\n{line}\n")
    assert seen.is_maintenance and seen.users == ("root", "davi") and seen.accounts == ()


def test_none() -> None:
    assert reserved.parse("No reservations in the system\n") == [] == reserved.parse("")


@pytest.mark.parametrize("line", ["x", "ReservationName=a", "ReservationName=a StartTime=soon EndTime=1 Nodes=a"])
def test_a_line_of_another_form_is_no_answer(line: str) -> None:
    with pytest.raises(Unanswered):
        reserved.parse(line)
