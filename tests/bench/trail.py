"""A1-A5: the trail's own numbers: export, verification, sealing, how soon an event is signed for, what it costs others.

Measured inside the stack, in a database of its own on the stack's PostgreSQL, which goes away afterwards.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from tests.bench.figures import Figure
from tests.bench.place import Place

NAME = "bench_trail"
USER = "bancada-postgres"  # may be the superuser by peer
PYTHON = "/srv/bancada/.venv/bin/python"
RUN = "/srv/var/run/pg"


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """Some minutes with 300,000 events; --large has ten million."""
    rows, seconds = (30_000, 12) if small else (10_000_000, 75) if large else (300_000, 75)
    with contextlib.closing(place.connect("postgres")) as server:
        server.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {NAME}")
        try:
            line = f"cd /srv/bancada && {PYTHON} -m tests.bench.trail_inside {NAME} {RUN} {rows} {seconds}"
            said = place.inside_as(USER, "sh", "-c", line)
            yield from figures(json.loads(said.splitlines()[-1]))
        finally:
            server.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")


def figures(found: dict[str, Any]) -> Iterator[Figure]:
    """As rows of the table."""
    rows, ratio = found["rows"], found["copy"] / found["export"]
    yield Figure(
        "A1", f"export of {rows:,} events as evidence", f"{rows / found['export']:,.0f}/s, {found['rate']:.0f} MB/s",
        f"psql COPY of the table {rows / found['copy']:,.0f}/s", f"{ratio:.2f}",
        "≥ 0.5 of the rows", ratio >= 0.5,
    )  # fmt: skip
    yield Figure("A1", "its memory", f"{found['growth']:+.0f} MB", goal="≤ 32 MB", good=found["growth"] <= 32)
    yield Figure("A1", "its first byte", f"{found['first']:.0f} ms", goal="≤ 250 ms", good=found["first"] <= 250)
    yield Figure(
        "A2", f"bancada-verify, {found['cores']} cores", f"{found['verify']:,.0f} events/s",
        f"one process {found['verify_one']:,.0f} events/s", goal="≥ 200,000/s", good=found["verify"] >= 200_000,
    )  # fmt: skip
    yield Figure(
        "A3", f"sealing {rows:,} events in one go", f"{found['seal']:,.0f} events/s", goal="≥ 1,000/s",
        good=found["seal"] >= 1000,
    )  # fmt: skip
    yield Figure(
        "A4", f"event to signed checkpoint, {found['written']:,} events at {found['write_rate']:,.0f}/s, p50 / p99",
        f"{found['p50']:.0f} / {found['p99']:.0f} s", goal="p99 ≤ 60 s", good=found["p99"] <= 60,
    )  # fmt: skip
    yield Figure(
        "A4", "events that no checkpoint covers afterwards", f"{found['uncovered']}", goal="0",
        good=found["uncovered"] == 0, must=True,
    )  # fmt: skip
    yield Figure(
        "A5", "a submission (the service) beside 1,000 events/s that are sealed", f"{found['submit_running']:.1f} ms",
        f"the sealer stopped, turn about: {found['submit_stopped']:.1f} ms", f"{found['submit_ratio']:.2f}", "≤ 1.05",
        found["submit_ratio"] <= 1.05,
    )  # fmt: skip
