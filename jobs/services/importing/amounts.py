"""From what a script says of tasks, CPUs, memory and GPUs to a node's share of each, as the request counts them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from django.utils.translation import gettext as _

from jobs.services.importing.findings import Became, Finding
from slurm.sbatch import Directive, Script, values

T = TypeVar("T")


class Amounts:
    """Reads each directive once; what cannot be read, and what was rounded, is a finding."""

    def __init__(self, script: Script, gpu_type: Callable[[Directive, str], str], whole_memory_gb: int | None) -> None:
        self.script, self.gpu_type, self.whole_memory_gb = script, gpu_type, whole_memory_gb
        self.fields: dict[str, Any] = {}
        self.findings: list[Finding] = []

    def read(self) -> dict[str, Any]:
        """The form's fields; only what the script says."""
        nodes = self._nodes()
        tasks = self._tasks(nodes)
        gpus = self._gpus(nodes, tasks)
        if gpus and (per_gpu := self._value("ntasks-per-gpu", values.count)):
            tasks = self.fields["tasks_per_node"] = gpus * per_gpu
        cpus = tasks * (self._value("cpus-per-task", values.count) or 1)
        if gpus and (per_gpu := self._value("cpus-per-gpu", values.count)):
            cpus = max(cpus, gpus * per_gpu)
        if cpus % tasks:
            self._ask(
                "cpus-per-gpu",
                "cpus",
                _("%(n)d CPUs cannot be shared out to %(tasks)d tasks.") % {"n": cpus, "tasks": tasks},
            )
        self.fields["cpus"] = cpus
        self._memory(cpus, gpus)
        return self.fields

    def _value(self, name: str, parse: Callable[[str], T]) -> T | None:
        one = self.script.said(name)
        if one is None or one.value is None:
            return None
        try:
            found = parse(one.value)
        except ValueError:
            self._say(one, Became.REFUSED, _("This value cannot be read: %(value)s") % {"value": one.value[:80]})
            return None
        self._say(one, Became.MAPPED)
        return found

    def _say(self, one: Directive, became: Became, said: str = "", field: str = "") -> None:
        self.findings = [found for found in self.findings if (found.line, found.text) != (one.line, one.text)]
        self.findings.append(Finding(one.line, one.text, became, said, field))

    def _ask(self, name: str, field: str, said: str) -> None:
        one = self.script.said(name)
        if one is not None:
            self._say(one, Became.QUESTION, said, field)

    def _nodes(self) -> int:
        fewest, most = self._value("nodes", values.nodes) or (1, 1)
        if fewest != most and (one := self.script.said("nodes")):
            self._say(one, Became.MAPPED, _("%(n)d nodes are asked for, the fewest of them.") % {"n": fewest})
        self.fields["nodes"] = fewest
        return fewest

    def _tasks(self, nodes: int) -> int:
        """Tasks on each node."""
        each, together = self._value("ntasks-per-node", values.count), self._value("ntasks", values.count)
        if together and each and not self.script.said("nodes"):
            nodes = self.fields["nodes"] = math.ceil(together / each)
        if together and not each:
            each = math.ceil(together / nodes)
        if together and each and each * nodes != together:
            said = _("%(all)d tasks are not shared out evenly over %(nodes)d nodes.")
            self._ask("ntasks", "tasks_per_node", said % {"all": together, "nodes": nodes})
        if each and (each > 1 or self.script.said("ntasks-per-node")):
            self.fields["tasks_per_node"] = each
        return each or 1

    def _gpus(self, nodes: int, tasks: int) -> int:
        """GPUs of each node; the last of the ways in which a script says it counts."""
        found = self._gres()
        per_task = self._value("gpus-per-task", values.gpus)
        together = self._value("gpus", values.gpus)
        found = self._value("gpus-per-node", values.gpus) or found
        name = "gpus-per-node" if self.script.said("gpus-per-node") else "gres"
        if per_task is not None:
            self.fields["gpus_per_task"] = per_task.number
            found, name = (
                found or values.Gpus(per_task.number * tasks, per_task.type),
                name if found else "gpus-per-task",
            )
        if found is None and together is not None:
            found, name = values.Gpus(math.ceil(together.number / self.fields["nodes"]), together.type), "gpus"
            if found.number * self.fields["nodes"] != together.number:
                said = _("%(all)d GPUs are not shared out evenly over %(nodes)d nodes.")
                self._ask("gpus", "gpus", said % {"all": together.number, "nodes": self.fields["nodes"]})
        if found is None:
            return 0
        one = self.script.said(name)
        self.fields["gpus"] = found.number
        self.fields["gpu_type"] = self.gpu_type(one, found.type) if one and found.number else ""
        return found.number

    def _gres(self) -> values.Gpus | None:
        found = self._value("gres", values.gres)
        one = self.script.said("gres")
        if found is None or one is None:
            return None
        if found[1]:
            said = _("Only GPUs are asked for; left out: %(others)s") % {"others": ", ".join(found[1])[:100]}
            self._say(one, Became.QUESTION, said, "gpus")
        return found[0] if found[0].number else None

    def _memory(self, cpus: int, gpus: int) -> None:
        whole = self._value("mem", values.megabytes)
        per_cpu, per_gpu = self._value("mem-per-cpu", values.megabytes), self._value("mem-per-gpu", values.megabytes)
        if whole == 0 or (whole is None and 0 in (per_cpu, per_gpu)):
            if self.whole_memory_gb:
                self.fields["memory_gb"] = self.whole_memory_gb
            return
        if whole is None:
            whole = per_cpu * cpus if per_cpu else per_gpu * gpus if per_gpu else None
        if whole is None:
            return
        self.fields["memory_gb"] = max(1, math.ceil(whole / 1024))
        if whole % 1024:
            one = next(one for name in ("mem", "mem-per-cpu", "mem-per-gpu") if (one := self.script.said(name)))
            self._say(one, Became.MAPPED, _("Rounded up to %(n)d GB per node.") % {"n": self.fields["memory_gb"]})
