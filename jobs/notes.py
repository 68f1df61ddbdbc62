"""Read what a job wrote down at its start: anybody's text, so only lines that have their form, and a bounded number."""

from __future__ import annotations

import re
from typing import Any

SINGLE = {"time", "host", "kernel", "os", "cpu", "python", "metrics"}
GIT = {"commit", "branch", "head"}
LISTS = {"package": 400, "var": 60, "dirty": 200}
LINE, DIFF = 500, 64 * 1024  # characters
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def parse(data: bytes) -> dict[str, Any]:
    """{"host", "os", ..., "gpus": [{}], "packages": [], "vars": [], "repositories": [{}]}; {} for what are no notes."""
    lines = data.decode("utf-8", "replace").split("\n")
    if not lines or lines[0] != "bancada 1":
        return {}
    found: dict[str, Any] = {"gpus": [], "packages": [], "vars": [], "repositories": [], "complete": False}
    for line in lines[1:]:
        _take(found, line)
    return found


def _take(found: dict[str, Any], line: str) -> None:
    repositories = found["repositories"]
    if line.startswith("|"):
        if repositories and len(repositories[-1]["diff"]) < DIFF:
            repositories[-1]["diff"] += _CONTROL.sub("\ufffd", line[1:]) + "\n"
        return
    key, _, value = line.partition(" ")
    value = _CONTROL.sub("\ufffd", value).strip()[:LINE]
    if not value:
        return
    if key in SINGLE:
        found.setdefault(key, value)
    elif key == "end":
        found["complete"] = True
    elif key == "gpu" and len(found["gpus"]) < 64:
        found["gpus"] += _gpu(value)
    elif key == "git" and len(repositories) < 2:
        if all(one["folder"] != value for one in repositories):
            repositories.append({"folder": value, "dirty": [], "diff": ""})
    elif key in GIT and repositories:
        repositories[-1].setdefault(key, value)
    elif key in LISTS:
        into = repositories[-1]["dirty"] if key == "dirty" and repositories else found.get(f"{key}s", [])
        if len(into) < LISTS[key]:
            into.append(value)


def _gpu(value: str) -> list[dict[str, str]]:
    """One line of nvidia-smi's CSV; one of another shape is left out."""
    parts = [part.strip() for part in value.split(",")]
    return [dict(zip(("index", "model", "uuid", "driver", "memory_mb"), parts, strict=True))] if len(parts) == 5 else []
