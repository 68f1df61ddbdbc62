"""docs/metrics.md names every reading the portal charts or keeps, with unit, series and route; held to the code."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from cluster.metrics import names
from cluster.metrics.host_names import BY_NAMES, OF_JOB, OF_NODE, VOLUMES
from cluster.metrics.sums import Sum
from gpu.series import BY_NAME
from jobs import api_gpus

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "metrics.md").read_text()
SERIES = re.compile(r"\b(?:bancada|DCGM|node)_\w+")


def rows(heading: str) -> dict[str, list[str]]:
    """The first table below a heading: its first cell -> all cells."""
    table = re.search(r"(?:^\|.*\n)+", TEXT[TEXT.index(f"\n{heading}\n") :], re.M)
    assert table, heading
    cells = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table[0].splitlines()[2:]]
    return {row[0].replace("`", ""): row for row in cells}


def test_every_reading_of_a_gpu() -> None:
    found = rows("### Charts of the GPUs")
    assert list(found) == list(names.OURS.readings)
    for name, row in found.items():
        _reading, unit, shown, ours, theirs = row
        assert unit == (api_gpus.UNITS.get(name) or {"memory_total": "MiB", "power_limit": "W"}[name])
        assert ("chart" in shown) == (name in names.CHARTED)
        assert set(SERIES.findall(ours)) == {names.OURS.readings[name].series}
        made = names.DCGM.readings[name].made
        assert set(SERIES.findall(theirs)) == {one for one in SERIES.findall(made) if one.startswith("DCGM")}


def test_every_reading_of_a_node() -> None:
    found = rows("### Charts of the nodes")
    assert list(found) == [*OF_JOB, *OF_NODE]
    for name, (_reading, unit, whose, ours, theirs) in found.items():
        assert unit == api_gpus.UNITS[name] and (whose == "whole node") == (name in OF_NODE)
        for cell, asked in ((ours, BY_NAMES["bancada"]), (theirs, BY_NAMES["dcgm"])):
            mine = [one.expression for one in asked if name in one.readings.values()]
            assert set(SERIES.findall(cell)) == {series for text in mine for series in SERIES.findall(text)}


def test_what_is_asked_of_our_agent_is_served() -> None:
    asked = {series for one in BY_NAMES["bancada"] for series in SERIES.findall(one.expression)}
    asked |= {reading.series for reading in names.OURS.readings.values()} | {names.OURS.allotted}
    assert asked <= set(BY_NAME)


def test_all_that_is_kept() -> None:
    found = rows("### Kept at the end")
    cards = {field for field in Sum.__dataclass_fields__ if field != "card"}
    nodes = {*OF_JOB, *OF_NODE} | {f"{name}_most" for name in OF_JOB if name not in VOLUMES}
    kept = {name for cell in found for name in re.findall(r"\w+", cell)}
    assert kept == cards | nodes


def test_the_routes_and_what_they_answer() -> None:
    served = {re.sub(r"^/\{\w+:pk\}", "/jobs/{id}", path) for path in api_gpus.router.path_operations}
    assert served == {"/jobs/{id}/gpus", "/jobs/{id}/usage", "/jobs/{id}/gpus/summary"}
    for path in served:
        assert f"`GET {path}`" in TEXT, path
    for schema in (api_gpus.Span, api_gpus.ChartOut, api_gpus.HostUsageOut, api_gpus.SummaryOut):
        for field in schema.model_fields:
            assert f"`{field}`" in TEXT, field


def test_the_minutes_that_are_recorded() -> None:
    rules = yaml.safe_load((ROOT / "stack" / "templates" / "prometheus-rules.yml").read_text())
    recorded = {rule["record"] for group in rules["groups"] for rule in group["rules"]}
    assert recorded == {f"bancada_gpu:{name}:{way}1m" for name in names.CHARTED for way in ("min", "max")}
    assert "`bancada_gpu:READING:min1m`" in TEXT and "`bancada_gpu:READING:max1m`" in TEXT
