"""Measure and print: `python -m tests.bench [P1 P8 ...] [--small] [--large] [--write]`, on the stack BANCADA_STACK names."""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench import (
    accepting,
    advising,
    calls,
    filing,
    governing,
    gpus,
    latency,
    lists,
    memory,
    pages,
    peers,
    reconciling,
    resuming,
    submitting,
    throughput,
    trail,
)
from tests.bench.figures import ROOT, Figure, circumstances, markdown, write
from tests.bench.place import Place

NUMBERS: dict[str, Callable[..., Iterator[Figure]]] = {
    "P1": submitting.measure,
    "P3": accepting.measure,
    "P4": advising.measure,
    "P6": calls.measure,
    "P8": latency.measure,
    "P9": throughput.measure,
    "P10": resuming.measure,
    "P12": pages.measure,
    "P16": memory.measure,
    "P17": gpus.agents,
    "P18": gpus.charts,
    "G1": reconciling.measure,
    "G2": governing.measure,
    "G4": peers.measure,
    "A1": trail.measure,
    "D1": filing.measure,
    "L1": lists.newest,
    "S1": lists.sweep,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("numbers", nargs="*", metavar="P1", help=f"of {' '.join(NUMBERS)}; all if none is named")
    parser.add_argument("--small", action="store_true", help="sizes that take seconds: is it all there?")
    parser.add_argument("--large", action="store_true", help="also the sizes that take a machine of their own")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    asked = parser.parse_args()
    unknown = [name for name in asked.numbers if name not in NUMBERS]
    if unknown:
        parser.error(f"there is no number {' '.join(unknown)}")
    return asked


def main() -> int:
    """1 where something was lost, doubled or another than it was; what is only slow is said in the table."""
    asked = arguments()
    place = Place(Path(os.environ.get("BANCADA_STACK", ROOT / "var/stack.json")))
    figures, broken = list[Figure](), list[str]()
    for name in asked.numbers or NUMBERS:
        began = time.monotonic()
        try:
            for figure in NUMBERS[name](place, small=asked.small, large=asked.large):
                figures.append(figure)
                print("  ".join(figure.cells()), file=sys.stderr, flush=True)
        except Exception:  # the others are measured all the same; the exit status tells
            traceback.print_exc()
            broken.append(name)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    text = f"{circumstances('python -m tests.bench ' + ' '.join(sys.argv[1:]))}\n{markdown(figures)}"
    print(text)
    if asked.write:
        write(text)
    if broken:
        print(f"not measured: {' '.join(broken)}", file=sys.stderr)
    return int(bool(broken) or any(figure.must and not figure.good for figure in figures))


if __name__ == "__main__":
    raise SystemExit(main())
