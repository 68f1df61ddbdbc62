"""What sacct says of runs and their steps, and lines nobody may believe."""

from __future__ import annotations

import pytest

from slurm import bulk, used
from slurm.contract import Unanswered

S = bulk.SEPARATOR


def lines(*rows: tuple[str, ...]) -> str:
    return "".join(S.join(row) + "\n" for row in rows)


def test_steps_belong_to_the_run_before_them() -> None:
    first, second = used.parse(
        lines(
            ("15", "15", "1796170168", "00:03.500", ""),
            ("15.batch", "15.batch", "1796170169", "00:03.500", "10240K"),
            ("15.0", "15.0", "1796170170", "00:01.000", "2.50G"),
            ("16_7", "19", "1796170168", "1-02:03:04", ""),
            ("16_7.batch", "19.batch", "1796170169", "1-02:03:04", ""),
        )
    )
    assert (first.job_id, first.cpu_seconds, first.peak_memory_mb) == (15, 3.5, 2560)
    assert (second.job_id, second.array_task) == (16, 7)
    assert (second.cpu_seconds, second.peak_memory_mb) == (93784, None)


def test_a_requeued_job_has_a_line_for_each_run() -> None:
    rows = used.parse(
        lines(
            ("15", "15", "1796170168", "00:01.000", ""),
            ("15.batch", "15.batch", "1796170168", "00:01.000", "1024K"),
            ("15", "15", "1796170300", "00:02.000", ""),
            ("15.batch", "15.batch", "1796170300", "00:02.000", "2048K"),
        )
    )
    assert [(row.cpu_seconds, row.peak_memory_mb) for row in rows] == [(1, 1), (2, 2)]


@pytest.mark.parametrize(
    "said", ["15|15|x\n", lines(("15", "15", "soon", "00:01", "")), lines(("x", "y", "1", "", ""))]
)
def test_what_cannot_be_read_is_no_answer(said: str) -> None:
    with pytest.raises(Unanswered):
        used.parse(said)


@pytest.mark.parametrize(
    ("said", "seconds"), [("00:00:00", 0), ("02:03:04", 7384), ("03:04.25", 184.25), ("", None), ("INVALID", None)]
)
def test_clocks(said: str, seconds: float | None) -> None:
    assert used.seconds(said) == seconds


@pytest.mark.parametrize(("said", "megabytes"), [("0", 0), ("1536K", 1.5), ("1.5M", 1.5), ("2G", 2048), ("", None)])
def test_sizes(said: str, megabytes: float | None) -> None:
    assert used.megabytes(said) == megabytes
