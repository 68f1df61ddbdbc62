"""What a measurement hands back, and how it becomes the table of docs/performance.md."""

from __future__ import annotations

import dataclasses
import os
import platform
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/performance.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


@dataclasses.dataclass(frozen=True)
class Figure:
    """One row: what was measured, beside what, and whether it reaches what was set; `good` None where nothing was.

    `must` marks what is no matter of speed: nothing lost, nothing doubled, the same bytes.
    """

    number: str
    what: str
    value: str
    beside: str = "–"
    ratio: str = "–"
    goal: str = "–"
    good: bool | None = None
    must: bool = False

    def cells(self) -> list[str]:
        mark = {True: "yes", False: "**no**", None: ""}[self.good]
        return [self.number, self.what, self.value, self.beside, self.ratio, self.goal, mark]


HEAD = ["", "what", "measured", "beside, in the same run", "ratio", "to reach", "reached"]


def markdown(figures: Iterable[Figure]) -> str:
    """The rows as a table."""
    rows = [HEAD, ["---"] * len(HEAD), *(figure.cells() for figure in figures)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share of them lies (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def pair(values: Sequence[float], unit: str = "ms") -> str:
    """Median and 99th of a hundred."""
    return f"{quantile(values, 0.5):.1f} / {quantile(values, 0.99):.1f} {unit}"


def circumstances(command: str) -> str:
    """When, on what and by which command: without them a figure says nothing."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    memory = next(line.split()[1] for line in Path("/proc/meminfo").read_text().splitlines() if "MemTotal" in line)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{time.strftime('%Y-%m-%d %H:%M')} UTC{time.strftime('%z')[:3]}, commit {commit.strip() or 'unknown'}, "
        f"{os.cpu_count()} cores ({_processor()}), {int(memory) // 1024**2} GiB, {_system()}, "
        f"Python {platform.python_version()}, load at the end {load}.\n\nCommand: `{command}`\n"
    )


def _processor() -> str:
    names = [line.partition(":")[2] for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    return " ".join(names[0].split()) if names else platform.machine()


def _system() -> str:
    lines = Path("/etc/os-release").read_text().splitlines()
    return next(line.partition("=")[2].strip('"') for line in lines if line.startswith("PRETTY_NAME"))


def write(text: str) -> None:
    """Between the two marks of docs/performance.md."""
    page = PAGE.read_text()
    before, found, rest = page.partition(BEGIN)
    _old, closed, after = rest.partition(END)
    if not (found and closed):
        raise SystemExit(f"{PAGE} has no place for the table: {BEGIN} ... {END}")
    PAGE.write_text(f"{before}{BEGIN}\n{text}{END}{after}")
