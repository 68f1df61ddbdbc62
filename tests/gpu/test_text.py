"""Prometheus text: escaped labels, grouped series, and a table that the documentation repeats."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu import series
from gpu.text import Reading, write
from tests.gpu.conftest import parse

ROOT = Path(__file__).resolve().parents[2]


@settings(max_examples=100)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_label_cannot_leave_its_quotes(mount: str) -> None:
    text = write([Reading("bancada_storage_bytes_total", (mount, "read"), 5)]).decode()
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    assert len(lines) == 1
    escaped = mount.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    assert lines[0] == f'bancada_storage_bytes_total{{mount="{escaped}",direction="read"}} 5'


def test_series_are_grouped_under_one_head() -> None:
    readings = [Reading("bancada_gpu_processes", (str(gpu), "u"), gpu) for gpu in range(3)]
    text = write([readings[0], Reading("bancada_agent_driver_up", (), 1), *readings[1:]]).decode()
    assert text.count("# TYPE bancada_gpu_processes gauge") == 1
    assert len(parse(text)) == 4


def test_what_is_not_in_the_table_is_not_served() -> None:
    with pytest.raises(KeyError):
        write([Reading("bancada_gpu_colour", (), 1)])
    with pytest.raises(ValueError):
        write([Reading("bancada_gpu_processes", ("0",), 1)])


def test_the_documentation_lists_every_series() -> None:
    assert series.table() in (ROOT / "docs" / "metrics.md").read_text()


def test_names_say_their_unit_and_kind() -> None:
    for one in series.ALL:
        assert one.name.endswith("_total") == (one.kind == series.COUNTER), one.name
        for word in ("bytes", "seconds", "watts", "joules", "celsius", "hertz", "ratio"):
            assert f"_{word}" not in one.name or one.unit not in ("1", "0 or 1"), one.name
