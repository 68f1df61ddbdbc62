"""The last words of a run: how many cells, how many leaks, how long."""

from __future__ import annotations

from typing import Any


def say(terminal: Any) -> None:
    """Add up what the tests of the matrix recorded, wherever they ran."""
    told = [report for reports in terminal.stats.values() for report in reports if _facts(report)]
    if not told:
        return
    cells, leaks = (sum(_facts(report).get(name, 0) for report in told) for name in ("cells", "leaks"))
    seconds = sum(report.duration for report in told)
    terminal.write_line(f"matrix: {cells} cells, {leaks} leaks, {seconds:.0f} s of work")


def _facts(report: Any) -> dict[str, int]:
    """Of the call itself; its other reports carry the same facts again."""
    facts = dict(getattr(report, "user_properties", ()))
    return facts if getattr(report, "when", "") == "call" and "cells" in facts else {}
