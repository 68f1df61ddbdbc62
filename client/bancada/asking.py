"""From a script and the command line to a request: an sbatch file as it is, read by the portal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bancada import show
from bancada.api import Portal, Trouble

_FIELDS = (
    "allocation", "name", "partition", "gpus", "gpu_type", "nodes", "cpus", "memory_gb", "time_limit_minutes", "array",
    "begin", "folder", "git",
)  # fmt: skip
IN_THE_WAY = ("refused", "question")


def request(portal: Portal, options: argparse.Namespace, say: Callable[[str], object]) -> dict[str, Any]:
    """What the script's own #SBATCH lines ask for; what stands on the command line counts more.

    Each line that is not simply taken is said. Raises Trouble where one is refused, or leaves a question that the
    command line does not answer.
    """
    script = _script(options.script)
    name = "stdin" if options.script == "-" else Path(options.script).name
    read = portal.read_script({"project": options.project, "script": script, "name": name, "undone": options.undo})
    given = {field: getattr(options, field) for field in _FIELDS if getattr(options, field) is not None}
    for one in read["findings"]:
        if one["said"]:
            say(": ".join(show.plain(one[name]) for name in ("place", "text", "said") if one.get(name)))
    left = [one for one in read["findings"] if one["became"] in IN_THE_WAY and one["field"] not in given]
    if left:
        raise Trouble(f"{options.script}: nothing was submitted.")
    variables = dict(_pair(one) for one in options.env)
    asked = read["fields"] | given | ({"datasets": options.dataset} if options.dataset else {})
    if variables:
        asked["environment"] = asked.get("environment", {}) | variables
    return dict(asked)


def folder_of(portal: Portal, job: str) -> str:
    """Where an earlier job started, from the project's folder on."""
    folder = portal.job(job)["options"].get("folder", "")
    if not folder:
        raise Trouble(f"{job} started in the project's own folder: leave --folder-of out.")
    return str(folder)


def _script(source: str) -> str:
    try:
        return (sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()).decode()
    except (OSError, ValueError) as error:
        raise Trouble(f"{source}: {error}") from error


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise Trouble(f"--env {text}: write NAME=VALUE.")
    return name, value
