"""The script beside its directives: what of them stays in it, and the whole written out from the form's fields."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from slurm.sbatch import Fate, Script, read
from slurm.sbatch.reading import quoted

GUARD = ": 'bancada: what follows is the script itself'"
# what sbatch has no directive for
OURS = ("allocation", "datasets", "environment", "after", "preset", "software", "git", "parameters")
_OURS = re.compile(rf"#BANCADA ({'|'.join(OURS)})=(.*)")


def without_directives(script: Script, first: str, rest: list[str]) -> str:
    """The lines that run, unchanged. What was read as a field is taken out, and what has no effect here stays as
    `##SBATCH`, which neither sbatch nor a second import reads; so do lines that were refused.

    `first` is put before the first command; `rest` are the lines from there on.
    """
    kept = [
        line for number, line in enumerate(script.lines[: script.header], 1) for line in _header(script, number, line)
    ]
    if rest and rest[0] == GUARD:
        rest = rest[1:]
    return "\n".join([*kept, *([first] if first else []), *rest])


def _header(script: Script, number: int, line: str) -> list[str]:
    if _OURS.fullmatch(line):
        return []
    if number not in script.marked:
        return [line]
    if any(one.line == number for one in script.faults):
        return [f"#{line}"]
    stays = [
        one.text for one in script.directives if one.line == number and one.option.fate in (Fate.KEPT, Fate.REFUSED)
    ]
    return [f"##SBATCH {' '.join(stays)}"] if stays else []


def ours(script: Script) -> dict[str, Any]:
    """The fields the portal wrote into a script for itself; a value that is no JSON is left to the form's own check."""
    found: dict[str, Any] = {}
    for line in script.lines[: script.header]:
        match = _OURS.fullmatch(line)
        if match:
            try:
                found[match[1]] = json.loads(match[2])
            except ValueError:
                found[match[1]] = match[2]
    return found


def head(fields: Mapping[str, Any]) -> list[str]:
    """The lines for Slurm that these fields are, and below them those that sbatch has no directive for."""
    header = [f"#SBATCH {line}" for line in _directives(fields)]
    return header + [f"#BANCADA {name}={json.dumps(fields[name])}" for name in OURS if fields.get(name)]


def to_script(fields: Mapping[str, Any]) -> str:
    """The request as a script: sbatch takes it as well, and an import gives the same fields and the same text."""
    first, end, rest = str(fields.get("script") or "#!/bin/bash\n").partition("\n")
    header = head(fields)
    inner = read(f"{first}\n{rest}")
    active = inner.marked or inner.faults or any(map(_OURS.fullmatch, inner.lines[: inner.header]))
    guard = [GUARD] if active or rest.split("\n")[0] == GUARD or GUARD in inner.lines[: inner.header + 1] else []
    return "\n".join([first, *header, *guard]) + end + rest


def _local(begin: Any) -> str:
    """sbatch reads a time by the clock on the wall."""
    at = timezone.localtime(datetime.fromisoformat(begin)) if begin else None
    return f"{at:%Y-%m-%dT%H:%M:%S}" if at else ""


def _directives(fields: Mapping[str, Any]) -> list[str]:
    cpus, tasks = int(fields.get("cpus") or 1), int(fields.get("tasks_per_node") or 0)
    gpus = ":".join(part for part in (str(fields.get("gpu_type") or ""), str(fields.get("gpus") or 0)) if part)
    per_task = int(fields.get("gpus_per_task") or 0)
    said = {
        "job-name": fields.get("name"), "partition": fields.get("partition"), "time": fields.get("time_limit_minutes"),
        "nodes": fields.get("nodes"), "ntasks-per-node": tasks, "cpus-per-task": cpus // (tasks or 1),
        "mem": f"{fields['memory_gb']}G" if fields.get("memory_gb") else "",
        "gpus-per-node": gpus if fields.get("gpus") else "",
        "gpus-per-task": f"{fields['gpu_type']}:{per_task}" if per_task and fields.get("gpu_type") else per_task,
        "constraint": fields.get("constraint"), "reservation": fields.get("reservation"),
        "begin": _local(fields.get("begin")), "signal": fields.get("signal"),
        "array": fields.get("array"), "error": "%x-%j.err" if fields.get("separate_errors") else "",
    }  # fmt: skip
    found = [f"--{name}={quoted(str(value))}" for name, value in said.items() if value]
    found += ["--exclusive"] if fields.get("exclusive") else []
    requeue = fields.get("requeue")
    return found + ([] if requeue is None else ["--requeue" if requeue else "--no-requeue"])
