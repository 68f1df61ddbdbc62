"""What it takes to run a job again exactly, as lines that can be read and compared. Pure: facts in, lines out."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from jobs.models import Job, Run
    from presets.models import Environment

SECRET = re.compile(r"key|token|secret|passw|credential|auth|cookie|private", re.IGNORECASE)
SEED = re.compile(r"(?i)(?:--)?\b([a-z_.-]*seed[a-z_]*)\s*[ =(]\s*(\d{1,20})\b")
SCRIPT_SEEDS = 20


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One fact. `key` is the same in every language; `value` may be hidden, `real` is what is compared."""

    section: str
    key: str
    label: str
    value: str
    real: str = ""

    @property
    def compared(self) -> str:
        """What makes two lines the same."""
        return self.real or self.value


def lines(
    job: Job, runs: Sequence[Run], notes: Mapping[str, Any], environment: Environment | None = None
) -> list[Line]:
    """All that is known; what was not written down on the node is left out."""
    return [*_request(job), *_variables(job), *_seeds(job, notes), *_ran(runs), *_node(notes), *_code(notes),
            *_locked(environment), *_packages(notes)]  # fmt: skip


def _request(job: Job) -> Iterator[Line]:
    section = _("Request")
    facts = (
        ("project", _("Project"), job.project.code),
        ("allocation", _("Allocation"), job.allocation.code if job.allocation else ""),
        ("partition", _("Partition"), job.partition),
        ("gpus", _("GPUs per node"), f"{job.gpus} {job.gpu_type}".strip()),
        ("nodes", _("Nodes"), job.nodes),
        ("cpus", _("CPUs per node"), job.cpus),
        ("memory", _("Memory per node"), f"{job.memory_mb} MB"),
        ("minutes", _("Time limit (minutes)"), job.time_limit_minutes),
        *((f"option.{name}", name, _plain(value)) for name, value in sorted(job.options.items())),
        ("script", _("Script (SHA-256)"), hashlib.sha256(job.script.encode()).hexdigest() if job.script else ""),
        ("digest", _("Request (SHA-256)"), job.digest),
        *((f"data.{one['code']}", _("Dataset"), f"{one['code']}@{one['version']}") for one in job.datasets),
    )
    yield from (Line(section, key, str(label), str(value)) for key, label, value in facts if value not in ("", None))


def _plain(value: Any) -> str:
    return f"{len(value)} ×" if isinstance(value, list) else str(value)


def _variables(job: Job) -> Iterator[Line]:
    for name, value in sorted(job.environment.items()):
        hidden = SECRET.search(name) is not None
        yield Line(_("Variables"), f"var.{name}", name, _("hidden") if hidden else str(value), real=str(value))


def _seeds(job: Job, notes: Mapping[str, Any]) -> Iterator[Line]:
    """As the script writes them, and as the environment of the node had them."""
    found = dict(SEED.findall(job.script)[:SCRIPT_SEEDS])
    found |= dict(one.partition("=")[::2] for one in notes.get("vars", ()) if "seed" in one.partition("=")[0].lower())
    yield from (Line(_("Seeds"), f"seed.{name}", name, value) for name, value in sorted(found.items()))


def _ran(runs: Sequence[Run]) -> Iterator[Line]:
    last = runs[-1] if runs else None
    if last is not None and last.node_list:
        yield Line(_("Ran on"), "nodes_used", _("Nodes used"), last.node_list)


def _node(notes: Mapping[str, Any]) -> Iterator[Line]:
    names = {
        "host": _("Node"), "os": _("System"), "kernel": _("Kernel"), "cpu": _("Processor"), "python": "Python",
    }  # fmt: skip
    section = _("Ran on")
    yield from (Line(section, key, label, notes[key]) for key, label in names.items() if notes.get(key))
    for gpu in notes.get("gpus", ()):
        yield Line(section, f"gpu.{gpu['index']}", f"GPU {gpu['index']}", f"{gpu['model']} · {gpu['uuid']}")
    drivers = sorted({gpu["driver"] for gpu in notes.get("gpus", ())})
    if drivers:
        yield Line(section, "driver", _("GPU driver"), ", ".join(drivers))
    for one in notes.get("vars", ()):
        name, _sign, value = one.partition("=")
        if "seed" not in name.lower():
            yield Line(section, f"env.{name}", name, value)


def _code(notes: Mapping[str, Any]) -> Iterator[Line]:
    section = _("Code")
    for place, one in enumerate(notes.get("repositories", ())):
        facts = (
            ("folder", _("Repository"), one["folder"]),
            ("commit", _("Commit"), one.get("commit") or one.get("head", "")),
            ("branch", _("Branch"), one.get("branch", "")),
            ("dirty", _("Changed files"), ", ".join(one.get("dirty", ()))),
        )
        yield from (Line(section, f"code.{place}.{key}", str(label), said) for key, label, said in facts if said)
        if one.get("diff"):
            digest = hashlib.sha256(one["diff"].encode()).hexdigest()
            yield Line(section, f"code.{place}.diff", _("Not committed (SHA-256)"), digest)


def _locked(environment: Environment | None) -> Iterator[Line]:
    """What the environment of the project's held when it was built; the packages seen at the start come beside it."""
    if environment is None or not environment.digest:
        return
    section = _("Environment")
    yield Line(section, "environment", _("Environment"), environment.title)
    yield Line(section, "environment.lock", _("Its lock (SHA-256)"), environment.digest)
    for name, version in environment.packages:
        yield Line(section, f"locked.{name.lower()}", name, version)


def _packages(notes: Mapping[str, Any]) -> Iterator[Line]:
    for one in sorted(set(notes.get("packages", ())), key=str.lower):
        name, _space, version = one.partition(" ")
        yield Line(_("Packages"), f"package.{name.lower()}", name, version)


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """One fact of two runs; "" where one of them has none."""

    section: str
    label: str
    first: str
    second: str
    same: bool


def compare(first: Iterable[Line], second: Iterable[Line]) -> list[Pair]:
    """Differences first, else in the order of the manifest."""
    here, there = ({line.key: line for line in some} for some in (first, second))
    pairs = []
    for key in dict.fromkeys([*here, *there]):
        one, other = here.get(key), there.get(key)
        known = here.get(key) or there[key]
        same = one is not None and other is not None and one.compared == other.compared
        pairs.append(Pair(known.section, known.label, _said(one), _said(other, one, same), same))
    return sorted(pairs, key=lambda pair: pair.same)


def _said(line: Line | None, beside: Line | None = None, same: bool = True) -> str:
    """Of two hidden values it is said that they differ."""
    if line is None:
        return ""
    return _("hidden, another") if beside is not None and not same and line.value == beside.value else line.value
