"""What became of each line of an imported script, in words."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _


class Became(enum.StrEnum):
    """What became of one directive or line."""

    MAPPED = "mapped"
    SWAPPED = "swapped"  # the project's own instead
    REPLACED = "replaced"  # by the site's dictionary; can be undone
    KEPT = "kept"
    QUESTION = "question"  # the person has to say something
    REFUSED = "refused"


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """`line` counts from 1 (0: the file as a whole); `text` is what stands there; `key` names an entry to undo."""

    line: int
    text: str
    became: Became
    said: str = ""
    field: str = ""
    key: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Imported:
    """The form's fields as the script has them, and what became of its lines."""

    fields: Mapping[str, Any]
    findings: tuple[Finding, ...]

    @property
    def state(self) -> str:
        """ "refused", "question" or "ready"."""
        found = {one.became for one in self.findings}
        return next((str(one) for one in (Became.REFUSED, Became.QUESTION) if one in found), "ready")

    @property
    def in_the_way(self) -> list[Finding]:
        """Why it is not ready."""
        return [one for one in self.findings if one.became in (Became.REFUSED, Became.QUESTION)]


# by the key of slurm.sbatch.options
WHY = {
    "account": _("The job is charged to the project."),
    "output": _("Output goes to the project's folder for logs, where the portal shows it."),
    "mail": _("Kept as a comment: the job's page tells how it stands."),
    "qos": _("The allocation says the QOS."),
    "site": _("Kept as a comment: the cluster's own setting applies."),
    "placing": _("Kept as a comment: Slurm chooses the nodes and cores itself."),
    "binding": _("Kept as a comment: give it to srun where it matters."),
    "one_cluster": _("Kept as a comment: the portal drives one cluster."),
    "comment": _("Kept as a comment: the portal needs this field itself. Write a note on the job's page."),
    "deadline": _("Kept as a comment: only the time limit counts."),
    "environment": _("Kept as a comment: a job gets the portal's environment and the variables it names."),
    "hold": _("Kept as a comment: hold the job on its page."),
    "no_effect": _("Kept as a comment: it has no effect here."),
    "licenses": _("Kept as a comment: no licence is asked for."),
    "open_mode": _("Kept as a comment: a requeued job writes its output anew."),
    "priority": _("Kept as a comment: Slurm says the order."),
    "burst_buffer": _("It could put files of others into the job."),
    "container": _("A container is chosen as a software environment."),
    "export_file": _("Name the variables one by one."),
    "identity": _("A job runs as who asks for it."),
    "per_node": _("Say the GPUs per node, with --gpus-per-node or --gres."),
    "input": _("Read the file in the script instead, with < behind the command."),
    "nodefile": _("Slurm chooses the nodes."),
    "reboot": _("Only an administrator reboots nodes."),
    "prints": _("With it, sbatch submits nothing."),
    "wrap": _("The script itself says what runs."),
    # faults of slurm.sbatch.reading
    "no_shebang": _("The first line must say what runs it, for example #!/bin/bash."),
    "other_scheduler": _("For another scheduler, and not read here."),
    "unmatched_quote": _("A quote is not closed."),
    "heterogeneous": _("Jobs of several different parts are not taken; ask for nodes that are alike."),
    "not_an_option": _("This is no option; sbatch would read no further."),
    "unknown_option": _("sbatch has no such option, or it fits several."),
    "takes_no_value": _("This option takes no value."),
    "value_missing": _("The value is missing."),
}
HARMLESS = frozenset({"other_scheduler"})  # faults that keep nothing from being asked for
