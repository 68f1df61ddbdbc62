"""sbatch scripts read as sbatch reads them: every spelling, every fault by its line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm.sbatch import OPTIONS, Fate, read
from slurm.sbatch import values as v
from slurm.sbatch.options import SHORT, Takes


def said(*lines: str) -> dict[str, str | None]:
    script = read("\n".join(["#!/bin/bash", *lines, "srun true"]))
    assert script.faults == ()
    return {one.name: one.value for one in script.directives}


def faults(*lines: str) -> list[tuple[int, str]]:
    return [(one.line, one.why) for one in read("\n".join(["#!/bin/bash", *lines, "srun true"])).faults]


@pytest.mark.parametrize(
    "line",
    [
        "#SBATCH --time=10", "#SBATCH --time 10", "#SBATCH -t 10", "#SBATCH -t10", '#SBATCH --time="10"',
        "#SBATCH --time='10'", "#SBATCH  \t--time=10", "#SBATCH--time=10", "#SLURM --time=10",
        "#SBATCH --time=10 # ten", "#SBATCH --time=1\\0", "#SBATCH --time=10#0", "#SBATCH -Qt10", "#SBATCH -t '10'",
        "#SBATCH --time\n#SBATCH 10", "#SBATCH -t5\n#SBATCH -t10", "# a comment\n\n  # another\n#SBATCH -t 10",
        "\f\n#SBATCH -t 10", "#SBATCH\n#SBATCH -t 10", "#SBATCH -t 10\nsrun true\n#SBATCH -t 99",
        "#SBATCH -t 10\r",
    ],
)  # fmt: skip
def test_ten_minutes(line: str) -> None:
    assert said(*line.split("\n"))["time"] == "10"


def test_several_on_a_line_and_the_last_one_counts() -> None:
    found = said("#SBATCH -N 2 -n4 --gres=gpu:a100:2", "#SBATCH --nodes=1")
    assert found == {"nodes": "1", "ntasks": "4", "gres": "gpu:a100:2"}
    assert said("#SBATCH --tasks-per-node=4") == said("#SBATCH --ntasks-per-node 4")
    assert said("#SBATCH --exclusive --requeue") == {"exclusive": None, "requeue": None}
    assert said("#SBATCH --job-n=x --dep=afterok:1") == {"job-name": "x", "dependency": "afterok:1"}
    assert said("#SBATCH --exclusive=user")["exclusive"] == "user"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["#SBATCH --time"], [(2, "value_missing")]), (["#SBATCH -t"], [(2, "value_missing")]),
        (["#SBATCH --nonsense=1"], [(2, "unknown_option")]), (["#SBATCH -Z 1"], [(2, "unknown_option"), (2, "not_an_option")]),
        (["#SBATCH --mail=x"], [(2, "unknown_option")]), (["#SBATCH --requeue=yes"], [(2, "takes_no_value")]),
        (["", "#SBATCH 10"], [(3, "not_an_option")]), (["#SBATCH : x"], [(2, "not_an_option")]),
        (["#SBATCH -t '10"], [(2, "unmatched_quote")]), (["#SBATCH hetjob"], [(2, "heterogeneous")]),
        (["#SBATCH packjob", "#SBATCH -t 1"], [(2, "heterogeneous")]), (["#PBS -l nodes=1"], [(2, "other_scheduler")]),
        (["#BSUB -n 1"], [(2, "other_scheduler")]), (["#SBATCH --"], [(2, "not_an_option")]),
    ],
)  # fmt: skip
def test_each_fault_names_its_line(lines: list[str], found: list[tuple[int, str]]) -> None:
    assert faults(*lines) == found


def test_a_script_begins_with_what_runs_it() -> None:
    assert [one.why for one in read("#SBATCH -t 1\n").faults] == ["no_shebang"]
    assert read("").faults[0].line == 1


def test_every_option_has_one_fate_and_a_reason_where_it_is_not_mapped() -> None:
    assert (
        len(SHORT)
        == len({one.short for one in OPTIONS.values() if one.short})
        == sum(bool(o.short) for o in OPTIONS.values())
    )
    for one in OPTIONS.values():
        assert bool(one.why) == (one.fate is not Fate.MAPPED), one


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_every_option_is_read_in_each_of_its_spellings(name: str) -> None:
    one = OPTIONS[name]
    if one.takes is Takes.VALUE:
        spellings = [f"--{name}=7", f"--{name} 7", *([f"-{one.short}7", f"-{one.short} 7"] if one.short else [])]
        assert {read(f"#!/bin/sh\n#SBATCH {text}\n").directives[0].value for text in spellings} == {"7"}
    elif not one.short or one.takes is Takes.NOTHING:
        spellings = [f"--{name}", *([f"-{one.short}"] if one.short else [])]
        assert {read(f"#!/bin/sh\n#SBATCH {text}\n").directives[0].value for text in spellings} == {None}


@given(st.text(), st.lists(st.text(alphabet="#SBATCH -=\"'\\nt10\n\t")))
def test_whatever_comes_it_is_read(start: str, more: list[str]) -> None:
    script = read(start + "\n".join(more))
    assert all(1 <= one.line <= len(script.lines) for one in [*script.directives, *script.faults])


@given(st.text(alphabet=st.characters(exclude_characters="\n\0", exclude_categories=["Cs"])))
def test_a_value_that_is_written_is_read_the_same(value: str) -> None:
    one = read(f"#!/bin/sh\n#SBATCH --comment={re.escape('x')}\n").directives[0]
    again = read(f"#!/bin/sh\n#SBATCH {type(one)(2, one.option, value).text}\n")
    assert [found.value for found in again.directives] == [value] and not again.faults


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("90", 90), ("90:30", 91), ("2:00:00", 120), ("0:00:01", 1), ("1-0", 1440), ("1-12", 2160), ("1-12:30", 2190),
     ("1-12:30:59", 2191), ("00:10:00", 10), ("7-00:00:00", 10080)],
)  # fmt: skip
def test_times(text: str, minutes: int) -> None:
    assert v.minutes(text) == minutes


@pytest.mark.parametrize(
    "text", ["", "x", "1:2:3:4", "-5", "1-", "1d", "INFINITE", "UNLIMITED", "1--2", "5m", "1-1:2:3:4"]
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError):
        v.minutes(text)


@pytest.mark.parametrize(
    ("text", "mb"),
    [("4000", 4000), ("4G", 4096), ("4g", 4096), ("512M", 512), ("1T", 1048576), ("2048K", 2), ("8GB", 8192), ("1.5G", 1536), ("0", 0)],
)  # fmt: skip
def test_sizes(text: str, mb: float) -> None:
    assert v.megabytes(text) == mb


def test_gpus() -> None:
    assert (v.gpus("2"), v.gpus("a100:2"), v.gpus("a100")) == (v.Gpus(2), v.Gpus(2, "a100"), v.Gpus(1, "a100"))
    assert v.gres("gpu:a100:2,nvme:1") == (v.Gpus(2, "a100"), ["nvme:1"]) and v.gres("gpu") == (v.Gpus(1), [])
    assert v.gres("none") == (v.Gpus(0), []) and v.gres("gres/gpu:3")[0] == v.Gpus(3)
    for text in ("a100:x", "", ":2"):
        with pytest.raises(ValueError):
            v.gpus(text)
    with pytest.raises(ValueError):
        v.gres("gpu:a100:1,gpu:h100:1")


def test_counts() -> None:
    assert (v.count("4"), v.count("2k"), v.nodes("2-4"), v.nodes("3")) == (4, 2048, (2, 4), (3, 3))
    for text in ("0", "4-2", "x", "1-", "-1"):
        with pytest.raises(ValueError):
            v.nodes(text)


NOW = datetime(2026, 12, 2, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("now", NOW), ("now+90", NOW + timedelta(seconds=90)), ("now+1hour", NOW + timedelta(hours=1)),
        ("now+2days", NOW + timedelta(days=2)), ("16:00", NOW.replace(hour=16, minute=0)),
        ("08:00", NOW.replace(hour=8, minute=0) + timedelta(days=1)), ("4:15 PM", NOW.replace(hour=16, minute=15)),
        ("tomorrow", NOW.replace(hour=0, minute=0) + timedelta(days=1)), ("2026-12-24", datetime(2026, 12, 24, tzinfo=UTC)),
        ("2026-12-24T18:00:05", datetime(2026, 12, 24, 18, 0, 5, tzinfo=UTC)), ("12/24", datetime(2026, 12, 24, tzinfo=UTC)),
        ("0110", datetime(2027, 1, 10, tzinfo=UTC)), ("011027", datetime(2027, 1, 10, tzinfo=UTC)),
        ("midnight", datetime(2026, 12, 3, tzinfo=UTC)), ("noon", datetime(2026, 12, 3, 12, tzinfo=UTC)),
        ("teatime", NOW.replace(hour=16, minute=0)), ("1224T18:00", datetime(2026, 12, 24, 18, tzinfo=UTC)),
    ],
)  # fmt: skip
def test_when_it_begins(text: str, at: datetime) -> None:
    assert v.begin(text, NOW) == at


@pytest.mark.parametrize("text", ["", "soon", "25:00", "2026-13-01", "now-1hour", "12/32", "2026-12-24T"])
def test_what_is_no_time_to_begin(text: str) -> None:
    with pytest.raises(ValueError):
        v.begin(text, NOW)
