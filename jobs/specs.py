"""JobSpec: the one checked, complete request that the form, the API and the tests share."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from cluster.models import Partition
from jobs import declared, option_checks
from jobs.options import Options
from projects.models import Project

LONGEST_SCRIPT = 4 * 1024 * 1024  # bytes; Slurm's own limit
_NAME = re.compile(r"[^\W_][\w .+-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_UNFIT = re.compile("[\x00\n\r\ud800-\udfff]")
_NOT_THEIRS = re.compile(
    r"(LD_|DYLD_|GLIBC_|SLURM_|SLURMD_|SBATCH_|BANCADA_|DATASET_)"
    r"|(GCONV_PATH|BASH_ENV|ENV|HOME|USER|LOGNAME|SHELL|PATH|IFS)$"
)


class BadSpec(Exception):
    """The request cannot be made as it stands: field -> messages, in the asker's language."""

    def __init__(self, errors: Mapping[str, list[str]]) -> None:
        super().__init__("; ".join(f"{field}: {' '.join(said)}" for field, said in errors.items()))
        self.errors = dict(errors)


@dataclasses.dataclass(frozen=True, slots=True)
class JobSpec:
    """A complete request: GPUs, CPUs and memory (MB) per node; time in minutes; the GPU type always resolved."""

    name: str
    partition: str
    gpu_type: str
    gpus: int
    nodes: int
    cpus: int
    memory_mb: int
    time_limit_minutes: int
    script: str
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    datasets: tuple[str, ...] = ()  # "code" (its newest version) or "code@version"
    options: Options = dataclasses.field(default_factory=Options)

    @property
    def total_gpus(self) -> int:
        """On all nodes together; of an array, one task's."""
        return self.gpus * self.nodes

    @property
    def most_gpus(self) -> int:
        """What can run at once: of an array, all tasks, or as many as its throttle lets."""
        return self.total_gpus * self.options.at_once

    @property
    def gpu_minutes(self) -> int:
        """The most it can use, all tasks together."""
        return self.total_gpus * self.time_limit_minutes * self.options.tasks

    def digest(self, *, project: str, allocation: str) -> str:
        """SHA-256 of the canonical request: the same for the same request, whatever door it came through."""
        body = dataclasses.asdict(self) | {"project": project, "allocation": allocation}
        if not self.datasets:  # as it was before there were any: a request sent again is the same one
            del body["datasets"]
        body["options"] = self.options.stored()
        if not body["options"]:
            del body["options"]
        return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def check(raw: Mapping[str, Any], *, project: Project, partitions: Iterable[Partition]) -> JobSpec:
    """Make a JobSpec of what was asked, or raise BadSpec naming every field that is wrong."""
    errors: dict[str, list[str]] = {}
    offered = {row.name: row for row in partitions if row.name in project.partitions}
    partition = offered.get(str(raw.get("partition") or ""))
    if partition is None:
        errors["partition"] = [
            _("The project may use these partitions: %(names)s.") % {"names": ", ".join(sorted(offered)) or "–"}
        ]
    fields: dict[str, Any] = {
        "name": _name(raw, errors),
        "script": _script(raw, errors),
        "environment": _environment(raw, errors),
        "datasets": declared.check(raw, errors),
        **_amounts(raw, partition, errors),
    }
    fields["gpu_type"] = _gpu_type(raw, partition, fields["gpus"], errors)
    if partition is not None and not errors:
        _fits(fields, partition, errors)
    options = option_checks.check(raw, fields, errors)
    if errors or partition is None:
        raise BadSpec(errors)
    return JobSpec(partition=partition.name, options=options, **fields)


def _name(raw: Mapping[str, Any], errors: dict[str, list[str]]) -> str:
    name = raw.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        errors["name"] = [_("Begin with a letter or digit; then letters, digits, spaces and . _ + - , 64 at most.")]
        return ""
    return name


def _script(raw: Mapping[str, Any], errors: dict[str, list[str]]) -> str:
    script = raw.get("script")
    said = ""
    if not isinstance(script, str) or not script.strip():
        said = _("Write the script the job runs.")
    elif "\x00" in script:
        said = _("The script holds a NUL character; it is not a text file.")
    elif "\r" in script:
        said = _("The script has DOS line ends; save it with Unix line ends.")
    elif not script.startswith("#!"):
        said = _("The first line must say what runs it, for example #!/bin/bash.")
    elif len(script.encode("utf-8", "surrogatepass")) > LONGEST_SCRIPT:
        said = _("The script is longer than 4 MiB.")
    elif any("\ud800" <= char <= "\udfff" for char in script):
        said = _("The script is not valid UTF-8.")
    if said:
        errors["script"] = [said]
    return script if isinstance(script, str) else ""


def _environment(raw: Mapping[str, Any], errors: dict[str, list[str]]) -> dict[str, str]:
    given = raw.get("environment") or {}
    if not isinstance(given, Mapping) or len(given) > 100:
        errors["environment"] = [_("Give at most 100 variables.")]
        return {}
    wrong = [said for said in (variable_fault(name, value) for name, value in given.items()) if said]
    if wrong:
        errors["environment"] = wrong[:1]
    return dict(given)


def variable_fault(name: Any, value: Any) -> str:
    """Why a job may not be given this variable; "" where it may. What steers the loader, the shell or Slurm is ours."""
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name) or _NOT_THEIRS.match(name):
        return _("The variable %(name)s may not be set.") % {"name": str(name)[:100]}
    if not isinstance(value, str) or len(value) > 4096 or _UNFIT.search(value):
        return _("The value of %(name)s must be one line of text.") % {"name": name}
    return ""


_LOWEST = {"gpus": 0, "nodes": 1, "cpus": 1, "memory_gb": 1, "time_limit_minutes": 1}
_CEILING = {"gpus": 1024, "nodes": 100_000, "cpus": 100_000, "memory_gb": 1_000_000, "time_limit_minutes": 366 * 1440}
_DEFAULT = {"gpus": 0, "nodes": 1, "cpus": 1, "memory_gb": 4, "time_limit_minutes": 60}


def _amounts(raw: Mapping[str, Any], partition: Partition | None, errors: dict[str, list[str]]) -> dict[str, int]:
    amounts = {field: _amount(field, raw.get(field), partition, errors) for field in _LOWEST}
    return {"memory_mb": amounts.pop("memory_gb") * 1024, **amounts}


def _amount(field: str, given: Any, partition: Partition | None, errors: dict[str, list[str]]) -> int:
    number = _DEFAULT[field] if given is None or given == "" else _whole(given)
    lowest, limit = _LOWEST[field], most(field, partition)
    highest = _CEILING[field] if limit is None else limit
    if number is None:
        errors[field] = [_("Enter a whole number.")]
    elif number < lowest:
        errors[field] = [_("At least %(n)d.") % {"n": lowest}]
    elif number > highest:
        where = partition.name if partition else ""
        errors[field] = [_("At most %(n)d in partition %(partition)s.") % {"n": highest, "partition": where}]
    return number if number is not None and field not in errors else lowest


def _whole(given: Any) -> int | None:
    if isinstance(given, bool):
        return None
    if isinstance(given, int):
        return given
    text = str(given).strip()
    return int(text) if re.fullmatch(r"-?[0-9]{1,12}", text) else None


def most(field: str, partition: Partition | None) -> int | None:
    """The partition's limit for a field of the form; None where it sets none."""
    if partition is None:
        return None
    match field:
        case "gpus":
            return max((kind["per_node"] for kind in partition.gpu_types.values()), default=0)
        case "nodes":
            return min(partition.max_nodes or partition.node_count, partition.node_count)
        case "cpus":
            return partition.cpus_per_node
        case "memory_gb":
            return partition.memory_mb_per_node // 1024
        case "time_limit_minutes":
            return partition.max_time_minutes
    return None


def _gpu_type(raw: Mapping[str, Any], partition: Partition | None, gpus: int, errors: dict[str, list[str]]) -> str:
    asked = raw.get("gpu_type") or ""
    kinds = sorted(partition.gpu_types) if partition else []
    if gpus == 0 or partition is None:
        return ""
    if not asked and len(kinds) == 1:
        return kinds[0]
    if asked not in kinds:
        errors["gpu_type"] = [_("The partition has these GPU types: %(names)s.") % {"names": ", ".join(kinds) or "–"}]
        return ""
    return str(asked)


def _fits(fields: Mapping[str, Any], partition: Partition, errors: dict[str, list[str]]) -> None:
    """More of a type than a node, or all nodes, have can never start."""
    if not fields["gpus"]:
        return
    kind = partition.gpu_types[fields["gpu_type"]]
    if fields["gpus"] > kind["per_node"]:
        errors["gpus"] = [_("A node has at most %(n)d GPUs of this type.") % {"n": kind["per_node"]}]
    elif fields["gpus"] * fields["nodes"] > kind["total"]:
        errors["gpus"] = [_("The partition has %(n)d GPUs of this type.") % {"n": kind["total"]}]
