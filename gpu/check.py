"""`make gpu-check`: what the agent reads of the GPUs here and what that costs; skipped where there is none."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from gpu.allotted import Allotments
from gpu.card import Sample
from gpu.procfs import Proc
from gpu.usage import Usage
from gpu.watch import EVERY, Watch
from gpu.whose import Whose

MOST_CPU, MOST_MEMORY = 0.005, 40.0  # of a core at one pass a second; MB
SMI = ("nvidia-smi", "--query-gpu=utilization.gpu,memory.used,power.draw", "--format=csv")


def main() -> int:
    """0 where all is well or there is nothing to check; 1 with what is wrong."""
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__)
    parser.add_argument("--passes", type=int, default=30)
    passes = parser.parse_args().passes
    whose = Whose(Proc())
    watch = Watch(whose, Allotments(whose), Usage(whose))
    watch.turn()
    if watch.driver is None:
        _say(f"gpu-check: skipped, this machine has no GPU a driver answers for ({watch.missing}).")
        return 0
    _say(f"driver {watch.driver.version}, {len(watch.driver.cards)} GPUs, {passes} passes")
    spent = _spent(lambda: _passes(watch, passes)) / passes
    wrong = [line for index in range(len(watch.driver.cards)) for line in _card(watch, index)]
    wrong += _cost(spent)
    _say("\n".join(wrong) or "gpu-check: all is well.")
    return 1 if wrong else 0


def _passes(watch: Watch, count: int) -> None:
    for _ in range(count):
        begun = time.monotonic()
        watch.turn()
        watch.text()
        time.sleep(max(0.0, begun + EVERY - time.monotonic()))


def _card(watch: Watch, index: int) -> list[str]:
    """What is wrong with the readings of one card; says them."""
    sample = watch.result(index)
    if not isinstance(sample, Sample):
        return [f"GPU {index}: {sample!r}"]
    values = sample.values
    _say(f"GPU {index}: " + ", ".join(f"{name} {value:.6g}" for name, value in values.items() if value is not None))
    faults = []
    if not values.get("total"):
        faults.append(f"GPU {index}: no memory was read")
    if values.get("power") is None or values.get("core_temperature") is None:
        faults.append(f"GPU {index}: no power or temperature was read")
    use = values.get("utilization")
    if not sample.slices and (use is None or not 0 <= use <= 1):
        faults.append(f"GPU {index}: utilisation {use}")
    return faults


def _cost(spent: float) -> list[str]:
    """Seconds of CPU a pass against the budget and against a fork of nvidia-smi each second; resident memory."""
    memory = _resident()
    _say(f"{spent * 100:.3f} % of a core at one pass a second, {memory:.1f} MB")
    faults = [f"more than {MOST_CPU:.1%} of a core"] if spent > MOST_CPU else []
    faults += [f"more than {MOST_MEMORY:.0f} MB"] if memory > MOST_MEMORY else []
    try:
        fork = _spent(lambda: subprocess.run(SMI, capture_output=True, check=True), resource.RUSAGE_CHILDREN)
    except (OSError, subprocess.CalledProcessError):
        return faults
    _say(f"nvidia-smi once: {fork * 1000:.1f} ms of CPU, {fork / spent:.0f} times a pass")
    return faults


def _spent(act: Callable[[], object], who: int = resource.RUSAGE_SELF) -> float:
    before = resource.getrusage(who)
    act()
    after = resource.getrusage(who)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _resident() -> float:
    """MB."""
    rows = Path("/proc/self/status").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmRSS")) / 1024


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
