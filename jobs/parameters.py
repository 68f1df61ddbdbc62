"""A sweep's row of parameters as its task gets it: variables set on the node by the task's number. Pure text."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LONGEST = 256 * 1024  # bytes of a whole table as JSON: it travels with the script, of which Slurm takes 4 MB
LONGEST_VARIABLE = 96 * 1024  # the kernel takes 128 KiB in one variable
Row = Mapping[str, Any]
_SAYS = ("echo", "printf", ":")  # what such a line does is not what the task is for


def variable(column: str) -> str:
    """The name a column's value goes by in the task: "learning-rate" is PARAM_LEARNING_RATE."""
    return "PARAM_" + re.sub(r"[^A-Za-z0-9]", "_", column).upper()


def value(cell: Any) -> str:
    """As JSON writes numbers and yes or no; text is itself."""
    return cell if isinstance(cell, str) else json.dumps(cell)


def of_task(row: Row) -> dict[str, str]:
    """The variables of one task."""
    return {variable(name): value(cell) for name, cell in row.items()}


def exports(numbers: Iterable[int], rows: Sequence[Row]) -> str:
    """One line of sh that sets the variables of the task it runs in; "" without a table."""
    if not rows:
        return ""
    cases = (f"{number}) export {words(row)} ;;" for number, row in zip(numbers, rows, strict=False))
    return f'case "${{SLURM_ARRAY_TASK_ID-}}" in {" ".join(cases)} esac'


def words(row: Row) -> str:
    """The variables of one task as a shell takes them: PARAM_RATE=0.05 PARAM_NAME='a b'."""
    return " ".join(f"{name}={shlex.quote(text)}" for name, text in of_task(row).items())


def as_json(numbers: Iterable[int], rows: Sequence[Row]) -> str:
    """Of all tasks, for a script that is no shell's: {"0": {"PARAM_RATE": "0.05"}, ...}."""
    return json.dumps({str(number): of_task(row) for number, row in zip(numbers, rows, strict=False)})


def command(script: str, variables: Mapping[str, str]) -> str:
    """The first command of a shell's script that names one of these, their values in its place; "" if none does."""
    names = "|".join(map(re.escape, variables))
    said = re.compile(rf'(?P<whole>")?\$(?:({names})\b|\{{({names})(?::?-[^{{}}]*)?\}})(?(whole)")')
    lines = (line.strip() for line in script.replace("\\\n", " ").split("\n"))
    lines_with = [line for line in lines if not line.startswith("#") and said.search(line)]
    found = next((line for line in lines_with if line.split()[0] not in _SAYS), "".join(lines_with[:1]))

    def put(match: re.Match[str]) -> str:
        text = variables[match[2] or match[3]]
        return shlex.quote(text) if match["whole"] else text

    return re.sub(r"\s+", " ", said.sub(put, found))
