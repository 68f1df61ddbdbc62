"""An sbatch script read into the form's fields, with what became of each of its lines."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from datetime import UTC
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from access import gate
from access.permissions import Permission
from accounts.models import User
from cluster.models import Partition
from jobs import option_checks, specs
from jobs.models import Job
from jobs.services.importing import scripts
from jobs.services.importing.amounts import Amounts
from jobs.services.importing.findings import HARMLESS, WHY, Became, Finding, Imported
from jobs.services.importing.replacing import Dictionary, finding
from projects.models import Project
from slurm.sbatch import Directive, Fate, read, values

MOST_MINUTES = 366 * 1440  # where the time limit is still a question
_KINDS = {"afterok": "ok", "afterany": "any", "afternotok": "notok"}
_FATES = {Fate.SWAPPED: Became.SWAPPED, Fate.KEPT: Became.KEPT, Fate.REFUSED: Became.REFUSED}


class Reader:
    """One script for one project; `read` gives the whole."""

    def __init__(
        self, project: Project, partitions: Sequence[Partition], by: User, dictionary: Dictionary, name: str = ""
    ) -> None:
        self.project, self.by, self.dictionary, self.name = project, by, dictionary, name
        self.partitions = {row.name: row for row in partitions}
        self.findings: list[Finding] = []
        self.fields: dict[str, Any] = {}

    def read(self, text: str) -> Imported:
        """Never raises: what cannot be taken is a finding."""
        self.script = read(self._clean(text))
        self._faults()
        self._not_mapped()
        self.partition = self._partition()
        amounts = Amounts(self.script, self._gpu_type, specs.most("memory_gb", self.partition))
        self.fields |= amounts.read()
        self.findings += amounts.findings
        self._choose_partition()
        first = self._plain()
        rest, replaced = self.dictionary.body(self.script.lines, self.script.header)
        self.fields |= scripts.ours(self.script) | {"script": scripts.without_directives(self.script, first, rest)}
        found = sorted([*self.findings, *replaced], key=lambda one: one.line)
        return Imported(self.fields, tuple(found))

    def _say(self, one: Directive, became: Became, said: str = "", field: str = "") -> None:
        self.findings.append(Finding(one.line, one.text, became, said, field))

    def _clean(self, text: str) -> str:
        """As a file of Unix has it."""
        clean = text.removeprefix("\ufeff").replace("\r\n", "\n")
        if clean != text:
            self.findings.append(Finding(0, "", Became.MAPPED, _("Line ends of DOS were taken out.")))
        return clean

    def _faults(self) -> None:
        for one in self.script.faults:
            became = Became.KEPT if one.why in HARMLESS else Became.REFUSED
            self.findings.append(Finding(one.line, one.text, became, str(WHY[one.why])))

    def _not_mapped(self) -> None:
        """What is swapped, kept or refused whatever its value, and what a later line says again."""
        for one in self.script.directives:
            if one is not self.script.said(one.name):
                later = self.script.said(one.name)
                said = _("Said again on line %(n)d, which counts.") % {"n": later.line if later else 0}
                self._say(one, Became.KEPT, said)
            elif one.name == "error":
                self.fields["separate_errors"] = True
                self._say(one, Became.SWAPPED, str(WHY["output"]), "separate_errors")
            elif one.name == "account" and self._is_replaced(one, "account", self.project.code):
                continue
            elif one.option.fate is not Fate.MAPPED:
                self._say(one, _FATES[one.option.fate], str(WHY[one.option.why]))

    def _is_replaced(self, one: Directive, kind: str, field: str = "") -> str:
        """The site's name for this value; "" where the dictionary has none, or it was undone."""
        known = self.dictionary.find(kind, one.value or "")
        undone = self.dictionary.undone_here(kind, one.value or "")
        if known or undone:
            self.findings.append(finding(one.line, known or undone, undone=known is None, field=field))  # type: ignore[arg-type]
        return known.new if known else ""

    def _partition(self) -> Partition | None:
        one = self.script.said("partition")
        if one is None or not one.value:
            return None
        for name in (self._is_replaced(one, "partition", "partition"), *one.value.split(",")):
            if name in self.partitions:
                self.fields["partition"] = name
                self._say(one, Became.MAPPED)
                return self.partitions[name]
        return None

    def _choose_partition(self) -> None:
        """Where the script names none that the project has: the only one that would do, or a question."""
        if self.partition is not None:
            return
        one = self.script.said("partition")
        fitting = [row for row in self.partitions.values() if bool(row.gpu_types) or not self.fields.get("gpus")]
        line, text = (one.line, one.text) if one else (0, "--partition")
        if len(fitting) == 1:
            self.partition = fitting[0]
            self.fields["partition"] = fitting[0].name
            said = _("The project's partition %(name)s is used.") % {"name": fitting[0].name}
            self.findings.append(Finding(line, text, Became.SWAPPED, said, "partition"))
            return
        said = _("Choose one of the project's partitions: %(names)s.") % {"names": ", ".join(self.partitions) or "–"}
        self.findings.append(Finding(line, text, Became.QUESTION, said, "partition"))

    def _gpu_type(self, one: Directive, kind: str) -> str:
        """The type as the site calls it; one the partition has not is a question."""
        known = self.dictionary.find("gres", kind) or self.dictionary.find("gres", f"gpu:{kind}")
        undone = self.dictionary.undone_here("gres", kind) or self.dictionary.undone_here("gres", f"gpu:{kind}")
        if kind and (known or undone):
            self.findings.append(finding(one.line, known or undone, undone=known is None, field="gpu_type"))  # type: ignore[arg-type]
            kind = known.new.removeprefix("gpu:") if known else kind
        here = sorted(self.partition.gpu_types) if self.partition else []
        if kind and self.partition is not None and kind not in here:
            said = _("The partition has these GPU types: %(names)s.") % {"names": ", ".join(here) or "–"}
            self._say(one, Became.QUESTION, said, "gpu_type")
        return kind

    def _plain(self) -> str:
        """The directives that stand for themselves; the line that goes to the working directory."""
        self._name()
        self._time()
        minutes = self.fields.get("time_limit_minutes", MOST_MINUTES)
        for name in ("array", "constraint", "reservation", "signal"):
            if one := self.script.said(name):
                self.fields[name] = one.value or ""
                said = option_checks.fault(name, self.fields[name], minutes)
                self._say(one, Became.QUESTION if said else Became.MAPPED, said, name)
        self._switches()
        self._begin()
        self._after()
        self._export()
        return self._chdir()

    def _name(self) -> None:
        one = self.script.said("job-name")
        wanted = (one.value if one else "") or posixpath.splitext(posixpath.basename(self.name))[0] or "job"
        name = re.sub(r"[^\w .+-]", "_", wanted).lstrip("_ .+-")[:64] or "job"
        self.fields["name"] = name
        if one is not None:
            said = _("Called %(name)s here.") % {"name": name} if name != one.value else ""
            self._say(one, Became.MAPPED, said, "name")

    def _time(self) -> None:
        one = self.script.said("time")
        if one is not None:
            try:
                self.fields["time_limit_minutes"] = values.minutes(one.value or "")
                self._say(one, Became.MAPPED, field="time_limit_minutes")
            except ValueError:
                self._say(one, Became.QUESTION, _("Give a time limit."), "time_limit_minutes")
            return
        usual = self.partition.default_time_minutes if self.partition else None
        self.fields["time_limit_minutes"] = usual or 60
        said = _("The script says no time limit; here it is %(n)d minutes.") % {"n": usual or 60}
        self.findings.append(Finding(0, "--time", Became.SWAPPED, said, "time_limit_minutes"))

    def _switches(self) -> None:
        if one := self.script.said("exclusive"):
            self.fields["exclusive"] = True
            self._say(one, Became.MAPPED, _("No other job on its nodes.") if one.value else "", "exclusive")
        said = [one for one in self.script.directives if one.name in ("requeue", "no-requeue")]
        for one in said[-1:]:
            self.fields["requeue"] = one.name == "requeue"
            self._say(one, Became.MAPPED, field="requeue")

    def _begin(self) -> None:
        one = self.script.said("begin")
        if one is None:
            return
        try:
            at = values.begin(one.value or "", timezone.localtime()).astimezone(UTC)
        except (ValueError, OverflowError):
            self._say(
                one, Became.REFUSED, _("This value cannot be read: %(value)s") % {"value": (one.value or "")[:80]}
            )
            return
        self.fields["begin"] = f"{at:%Y-%m-%dT%H:%M:%SZ}"
        self._say(one, Became.MAPPED, timezone.localtime(at).strftime("%Y-%m-%d %H:%M"), "begin")

    def _after(self) -> None:
        one = self.script.said("dependency")
        if one is None:
            return
        found, unknown = list[dict[str, str]](), list[str]()
        for part in (one.value or "").split(","):
            kind, *numbers = part.strip().split(":")
            if kind not in _KINDS or not numbers or not all(re.fullmatch(r"[0-9]{1,12}", number) for number in numbers):
                self._say(one, Became.REFUSED, _("Only afterok, afterany and afternotok, each with numbers of jobs."))
                return
            for number in numbers:
                job = self._job(int(number))
                (found.append({"kind": _KINDS[kind], "job": job}) if job else unknown.append(number))
        if unknown:
            self._say(one, Became.REFUSED, _("There is no job %(ids)s.") % {"ids": ", ".join(unknown)}, "after")
            return
        self.fields["after"] = found
        self._say(one, Became.MAPPED, field="after")

    def _job(self, number: int) -> str:
        """The portal's id of the newest job of this number that the asker may see."""
        rows = gate.allowing(Job.objects.filter(slurm_job_id=number), self.by, Permission.JOB_VIEW)
        return str(rows.order_by("-pk").values_list("pk", flat=True).first() or "")

    def _export(self) -> None:
        one = self.script.said("export")
        if one is None:
            return
        pairs = [part.partition("=") for part in _commas(one.value or "")]
        given = {name: value for name, sign, value in pairs if sign}
        wrong = [said for said in (specs.variable_fault(name, value) for name, value in given.items()) if said]
        if wrong:
            self._say(one, Became.REFUSED, wrong[0], "environment")
            return
        bare = [name for name, sign, _value in pairs if not sign and name not in ("ALL", "NONE", "NIL", "")]
        if bare:
            said = _("Give these variables a value: %(names)s.") % {"names": ", ".join(bare)[:200]}
            self._say(one, Became.QUESTION, said, "environment")
        else:
            self._say(one, Became.MAPPED, str(WHY["environment"]) if not given else "", "environment")
        if given:
            self.fields["environment"] = given

    def _chdir(self) -> str:
        one = self.script.said("chdir")
        if one is None:
            return ""
        path, entry = self.dictionary.path(one.value or "")
        if entry is not None:
            self.findings.append(finding(one.line, entry))
        folder = self.project.folder.rstrip("/")
        full = posixpath.normpath(posixpath.join(folder, path))
        if full == folder:
            self._say(one, Became.MAPPED)
            return ""
        if not full.startswith(f"{folder}/") or not full.isprintable():
            self._say(one, Became.REFUSED, _("A job works in the project's folder, %(folder)s.") % {"folder": folder})
            return ""
        line = "cd -- '" + full.replace("'", "'\\''") + "' || exit"
        self._say(one, Became.MAPPED, _("Written into the script: %(line)s") % {"line": line})
        return line


def _commas(text: str) -> Iterable[str]:
    """At commas, but not within quotes."""
    return [
        re.sub(r"""(['"])(.*?)\1""", r"\2", part).strip()
        for part in re.findall(r"""(?:[^,'"]|'[^']*'|"[^"]*")+""", text)
    ]
