"""Slurm's notations, as the releases print them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as some

from slurm import text


def test_tres_takes_the_untyped_entry_for_the_total() -> None:
    found = text.tres("cpu=4,mem=3000M,node=2,billing=4,gres/gpu=4,gres/gpu:a100=3,gres/gpu:h100=1")
    assert (found.cpus, found.memory_mb, found.nodes, found.gpus) == (4, 3000, 2, 4)
    assert found.gpu_types == {"a100": 3, "h100": 1}


def test_weights_of_billing() -> None:
    assert text.weights("CPU=0.5,Mem=0.25G,GRES/gpu=1") == {"cpu": 0.5, "mem": 256.0, "gres/gpu": 1.0}
    assert text.weights("GRES/gpu=1.0,CPU=0") == {"gres/gpu": 1.0} and text.weights("") == {}


def test_tres_sums_the_types_where_there_is_no_total() -> None:
    assert text.tres("gres/gpu:a100=3,gres/gpu:h100=1").gpus == 4


@pytest.mark.parametrize(
    ("printed", "megabytes"), [("100M", 100), ("1.50G", 1536), ("4G", 4096), ("2T", 2097152), ("2048K", 2)]
)
def test_memory_in_every_unit(printed: str, megabytes: int) -> None:
    assert text.tres(f"mem={printed}").memory_mb == megabytes


@pytest.mark.parametrize("nothing", ["", None, "N/A", "cpu=", "cpu=x", "=", ",,", "mem=1.2.3G"])
def test_tres_of_nothing(nothing: str | None) -> None:
    assert text.tres(nothing) == text.Tres()


def test_limits() -> None:
    assert text.limits("cpu=100,gres/gpu=6,gres/gpu:a100=2") == {"cpu": 100, "gres/gpu": 6, "gres/gpu:a100": 2}
    assert text.limits("") == {}


@pytest.mark.parametrize("never", [0, "0", "", None, "N/A", "Unknown", "None", "NONE", "INVALID"])
def test_never(never: int | str | None) -> None:
    assert text.moment(never) is None


def test_a_moment_is_aware_utc() -> None:
    assert text.moment("1796169908") == datetime(2026, 12, 2, 0, 5, 8, tzinfo=UTC) == text.instant(1796169908)
    with pytest.raises(ValueError):
        text.instant("Unknown")


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("RUNNING", {"RUNNING"}),
        ("CANCELLED by 70101", {"CANCELLED"}),
        ("CANCELLED+", {"CANCELLED"}),
        ("COMPLETED,COMPLETING", {"COMPLETED", "COMPLETING"}),
        ("", set()),
    ],
)
def test_states(printed: str, expected: set[str]) -> None:
    assert text.states(printed) == expected


@pytest.mark.parametrize(
    ("printed", "expected"),
    [("5:00", 5), ("0:30", 1), ("2:00:00", 120), ("1-00:00:00", 1440), ("1-02:03:04", 1564), ("UNLIMITED", None)],
)
def test_minutes(printed: str, expected: int | None) -> None:
    assert text.minutes(printed) == expected


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("0:0", (0, None)),
        ("3:0", (3, None)),
        ("0:15", (None, 15)),
        ("768", (3, None)),
        ("9", (None, 9)),
        ("0", (0, None)),
    ],
)
def test_exit_status_in_both_notations(printed: str, expected: tuple[int | None, int | None]) -> None:
    assert text.exit_pair(printed) == expected


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ("gres:gpu:a100:2", 2),
        ("gres/gpu:a100:2", 2),
        ("gres/gpu:a100=2", 2),
        ("gpu:2", 2),
        ("gpu", 1),
        ("gres/gpu:a100", 1),
        ("gres/gpu:a100:1,gres/gpu:h100:3", 4),
        ("gres:craynetwork:1", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_gpus_asked(asked: str | None, count: int) -> None:
    assert text.gpus_asked(asked) == count


def test_gpus_of_a_node() -> None:
    assert text.gpu_types("gpu:a100:4(S:0-1),gpu:h100:2,nic:1") == {"a100": 4, "h100": 2}
    assert text.gpu_types("gpu:4") == {"gpu": 4}
    assert text.gpu_types(None) == {}


def test_hosts() -> None:
    assert text.hosts("gpu[01-03,07],big01") == ("gpu01", "gpu02", "gpu03", "gpu07", "big01")
    assert text.hosts("r[1-2]n[08-09]x") == ("r1n08x", "r1n09x", "r2n08x", "r2n09x")
    assert text.hosts("") == text.hosts(None) == ()
    assert len(text.hosts("n[0-99999999]")) == 65536


@given(some.text())
def test_no_text_breaks_the_readers_of_text(anything: str) -> None:
    for read in (text.tres, text.limits, text.states, text.minutes, text.gpus_asked, text.gpu_types):
        read(anything)  # type: ignore[operator]
