"""What the simulated GPUs of a node show: a job's are busy, unless the job or a test asks for another scene."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from gpu.allotted import of_environment
from gpu.whose import Whose

FOLDER = Path("/srv/var/run/scenes")  # a file a job (its number) or a node (its name, root's), one word a GPU or lines
MODELS = {"a100": ("NVIDIA A100-SXM4-40GB (simulated)", 40960, 400), "h100": ("NVIDIA H100 (simulated)", 81559, 700)}
WORDS = {
    "busy": "util wave memory {most} temp 66 sm 1410",
    "idle": "util 0 memory 512 temp 34",
    "throttled": "util 97 memory {most} power {limit} temp 89 sm 840 throttle 0x24",
    "ecc": "util wave memory {most} temp 67 sm 1410 ecc 40 dbe 2 xid 94",
    "lost": "lost 1 xid 79",
    "hung": "hang 30",
}


def scene(whose: Whose, node: str, kind: str, count: int) -> str:
    """The scene of a node as its jobs are now, for the stand-in driver (nvml.c says its form)."""
    model, memory, limit = MODELS.get(kind, (kind, 40960, 400))
    lines = [f"gpus {count} {model}", *(f"gpu {index} total {memory} limit {limit}" for index in range(count))]
    whose.look()
    for job in sorted(whose.now.members):
        indexes, _uuids = of_environment(whose, job)
        first = whose.first(job)
        words = _words(FOLDER / job, owners={0, whose.now.uids.get(job, 0)}) or ["busy"]
        own = sorted(index for index in indexes if index < count)
        lines += _job(own, words, first[:1], {"most": memory * 3 // 4, "limit": limit})
    return "\n".join([*lines, *_lines(FOLDER / node)]) + "\n"


def _job(indexes: Iterable[int], words: list[str], pids: list[int], values: dict[str, int]) -> list[str]:
    lines = []
    for place, index in enumerate(indexes):
        word = words[min(place, len(words) - 1)]
        lines.append(f"gpu {index} {WORDS.get(word, WORDS['busy']).format(**values)}")
        lines += [f"process {index} {pid} {512 if word == 'idle' else values['most']}" for pid in pids]
    return lines


def _words(path: Path, owners: set[int]) -> list[str]:
    return _read(path, owners).split()


def _lines(path: Path) -> list[str]:
    return _read(path, {0}).splitlines()


def _read(path: Path, owners: set[int]) -> str:
    """A small plain file of one of these owners; whatever else lies there says nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(descriptor, errors="replace") as file:
        facts = os.fstat(descriptor)
        return file.read(4096) if stat.S_ISREG(facts.st_mode) and facts.st_uid in owners else ""
