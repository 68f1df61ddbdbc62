"""An sbatch script brought into the submit form: read into its fields, with what became of each line beside them."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from cluster.models import Partition
from jobs import tables
from jobs.services.asking import partitions_of
from jobs.services.importing import dictionary
from jobs.services.importing.findings import Became, Finding, Imported
from jobs.services.importing.reading import Reader
from jobs.specs import LONGEST_SCRIPT
from projects.models import Project
from slurm import sbatch

# the field beside which a finding stands, by the option it is about
FIELD_OF = {
    "job-name": "name", "nodes": "nodes", "ntasks": "tasks_per_node", "ntasks-per-node": "tasks_per_node",
    "ntasks-per-gpu": "tasks_per_node", "cpus-per-task": "cpus", "cpus-per-gpu": "cpus", "mem": "memory_gb",
    "mem-per-cpu": "memory_gb", "mem-per-gpu": "memory_gb", "gres": "gpus", "gpus": "gpus", "gpus-per-node": "gpus",
    "gpus-per-task": "gpus_per_task", "time": "time_limit_minutes", "partition": "partition", "begin": "begin",
    "dependency": "after", "export": "environment", "account": "allocation", "qos": "allocation",
    "error": "separate_errors", "exclusive": "exclusive", "requeue": "requeue", "no-requeue": "requeue",
    "array": "array", "constraint": "constraint", "reservation": "reservation", "signal": "signal",
}  # fmt: skip
# what a script says by saying nothing of it: the request's own defaults
SILENT: dict[str, Any] = {
    "gpus": 0, "gpu_type": "", "nodes": 1, "cpus": 1, "memory_gb": 4, "array": "", "tasks_per_node": "",
    "gpus_per_task": "", "constraint": "", "reservation": "", "begin": "", "signal": "", "requeue": "", "after": "",
    "exclusive": "", "separate_errors": "", "environment": "",
}  # fmt: skip
_OPTION = re.compile(r"--([a-z][a-z-]*)")
_OURS = re.compile(r"#BANCADA (?!dataset=)[a-z]+=")


@dataclasses.dataclass
class Brought:
    """`text` is the script as it came ("": none was read); `undone` are keys of the site's dictionary."""

    project: Project
    by: User
    text: str = ""
    name: str = ""
    undone: frozenset[str] = frozenset()
    without: bool = False  # lines that were refused are left out, knowingly
    as_is: str = ""  # digest of lines for Slurm that are left unread, knowingly

    @classmethod
    def of(cls, data: Any, *, project: Project, by: User) -> Brought:
        """As the form says."""
        every = data.getlist("undone") if hasattr(data, "getlist") else data.get("undone", [])
        return cls(
            project, by, _plain(str(data.get("brought", "")))[:LONGEST_SCRIPT], str(data.get("file", ""))[:200],
            frozenset(every[: dictionary.MOST]), "without" in data, str(data.get("as_is", ""))[:64],
        )  # fmt: skip

    @cached_property
    def imported(self) -> Imported | None:
        """What became of it, with what is undone left out."""
        return self._read(self.undone) if self.text else None

    def _read(self, undone: Iterable[str]) -> Imported:
        words = dictionary.current(frozenset(undone))
        return Reader(self.project, self._partitions, self.by, words, self.name).read(self.text)

    def taken(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The form after the script that stands in it was read; unchanged where it says nothing to Slurm."""
        text = _plain(str(values.get("script") or ""))
        if not speaks(text):
            return dict(values)
        self.text, self.undone, self.without, self.as_is = text, frozenset(), False, ""
        self.__dict__.pop("imported", None)
        found = as_typed(self.imported.fields) if self.imported else {}
        if not self.name and "job-name" not in self._options and values.get("name"):
            found["name"] = values["name"]
        return dict(values) | SILENT | found

    @cached_property
    def _partitions(self) -> list[Partition]:
        return partitions_of(self.project)

    @property
    def _options(self) -> set[str]:
        return {one.name for one in sbatch.read(self.text).directives}

    def changed(self, key: str, values: Mapping[str, Any], *, undo: bool) -> dict[str, Any]:
        """One replacement undone, or done again: what it changes, and nothing else that was typed since."""
        if not self.text:
            return dict(values)
        before = as_typed(self._read(self.undone).fields)
        self.undone = self.undone | {key} if undo else self.undone - {key}
        self.__dict__.pop("imported", None)
        after = as_typed(self._read(self.undone).fields)
        moved = {name: value for name, value in after.items() if before.get(name) != value}
        if "script" in moved and _plain(str(values.get("script"))) != before.get("script"):
            moved["script"] = values["script"]  # changed by hand meanwhile: theirs
        return dict(values) | moved

    def leave(self, script: str) -> None:
        """Lines for Slurm stay in this script, unread."""
        self.as_is = _digest(_plain(script))

    def unread(self, script: str) -> bool:
        """Whether this script says something to Slurm that nobody has looked at."""
        text = _plain(script)
        return speaks(text) and _digest(text) != self.as_is

    def in_the_way(self) -> list[str]:
        """Refused lines, unless they are left out knowingly."""
        found = [one for one in self.findings if one.became is Became.REFUSED]
        if not found or self.without:
            return []
        said = _("Line %(n)d: %(text)s: %(why)s")
        return [said % {"n": one.line, "text": one.text[:100], "why": one.said} for one in found]

    @property
    def findings(self) -> list[Finding]:
        """What became of each line, in its order."""
        return list(self.imported.findings) if self.imported else []

    def beside(self) -> dict[str, list[Finding]]:
        """By the field beside which it stands."""
        found: dict[str, list[Finding]] = {}
        for one in self.findings:
            match = _OPTION.match(one.text)
            name = one.field or (FIELD_OF.get(match[1], "") if match else "")
            found.setdefault(name, []).append(one)
        return found


def speaks(script: str) -> bool:
    """Whether a script has lines for Slurm (or those the portal writes for itself) before its first command."""
    if "#SBATCH" not in script and "#SLURM" not in script and "#BANCADA" not in script:
        return False
    found = sbatch.read(script)
    return bool(found.marked) or any(_OURS.match(line) for line in found.lines[: found.header])


def _digest(script: str) -> str:
    """Of the lines for Slurm alone."""
    found = sbatch.read(script)
    lines = [line for n, line in enumerate(found.lines[: found.header], 1) if n in found.marked or _OURS.match(line)]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def _plain(text: str) -> str:
    """With the line ends of Unix: browsers send others."""
    return text.replace("\r\n", "\n")


def as_typed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an imported script as the form has them."""
    found = dict(fields)
    if "requeue" in found:
        found["requeue"] = "yes" if found["requeue"] else "no"
    if "environment" in found:
        found["environment"] = tables.variables_text(found["environment"])
    if "parameters" in found:
        found["parameters"] = tables.parameters_text(found["parameters"])
    if "after" in found:
        found["after"] = " ".join(f"{one['kind']}:{one['job']}" for one in found["after"])
    if "begin" in found:
        found["begin"] = f"{timezone.localtime(datetime.fromisoformat(found['begin'])):%Y-%m-%dT%H:%M:%S}"
    if isinstance(found.get("datasets"), list):
        found["datasets"] = " ".join(map(str, found["datasets"]))
    return found
