"""The submit form: plain fields, judged by the same check as the API's request. Two doors show the same fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from jobs import specs, tables
from jobs.models import Job
from jobs.services import prepare
from jobs.services.importing.brought import as_typed
from presets.models import PresetVersion
from projects.models import Project
from quotas.models import Allocation

# Runs as it is wherever a node has Python: a loss, line by line, for two minutes.
EXAMPLE = """\
#!/bin/bash
hostname
python3 - <<'END'
import time

weight, epochs = 0.0, 60
for epoch in range(1, epochs + 1):
    error = 3.0 - weight
    weight += 0.03 * error
    print(f"epoch {epoch}/{epochs}  loss {error * error:.4f}")
    time.sleep(2)
END
"""
CORE = ("name", "partition", "gpu_type", "gpus", "nodes", "cpus", "memory_gb", "time_limit_minutes")
# rarely used: each group a disclosure of its own
GROUPS: tuple[tuple[str | Promise, tuple[str, ...]], ...] = (
    (_("Many tasks"), ("array", "parameters")),
    (_("Where it starts"), ("folder", "git")),
    (_("When it starts"), ("after", "begin", "reservation")),
    (_("Nodes and tasks"), ("tasks_per_node", "gpus_per_task", "constraint", "exclusive")),
    (_("Signal and second run"), ("signal", "requeue")),
    (_("Variables and output"), ("environment", "separate_errors")),
)
YES_NO: list[Any] = [("", _("as the cluster does")), ("yes", _("yes")), ("no", _("no"))]


class Several(forms.CharField):
    """Several values of one name, as checkboxes or selects send them; together they are one text with blanks."""

    class Widget(forms.TextInput):
        """All of them."""

        def value_from_datadict(self, data: Any, files: Any, name: str) -> str:
            """With blanks between."""
            every = data.getlist(name) if hasattr(data, "getlist") else [data.get(name, "")]
            return " ".join(one.strip() for one in every if one and one.strip())

    widget = Widget


class Switch(forms.CharField):
    """A checkbox whose "no" is said by a field hidden before it: what is left out would mean what a preset says."""

    widget = forms.CheckboxInput

    def to_python(self, value: Any) -> Any:
        """As the request takes it."""
        return "on" if value in (True, "on", "yes", "true", "1") else "off"


class JobForm(forms.Form):
    """One job of one project. `spec` and `chosen` are set once it is valid."""

    name = forms.CharField(label=_("Name"), max_length=64)
    partition = forms.CharField(label=_("Partition"), required=False)
    gpu_type = forms.CharField(label=_("GPU type"), required=False)
    gpus = forms.CharField(label=_("GPUs per node"), required=False, initial=1)
    nodes = forms.CharField(label=_("Nodes"), required=False, initial=1)
    cpus = forms.CharField(label=_("CPUs per node"), required=False, initial=4)
    memory_gb = forms.CharField(label=_("Memory per node (GB)"), required=False, initial=8)
    time_limit_minutes = forms.CharField(label=_("Time limit (minutes)"), required=False, initial=60)
    allocation = forms.CharField(label=_("Allocation"), required=False)
    datasets = Several(label=_("Datasets"), required=False, max_length=1000)
    software = forms.CharField(label=_("Environment"), required=False)
    array = forms.CharField(
        label=_("Tasks of the array"), required=False, max_length=2000,
        help_text=_("For example 1-100, and %8 behind it for at most 8 at once."),
    )  # fmt: skip
    parameters = forms.CharField(
        label=_("Table of parameters"), required=False, max_length=200_000, widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("One row a task; the first names the columns: rate is $PARAM_RATE in the script."),
    )  # fmt: skip
    after = Several(label=_("After other jobs"), required=False, max_length=2000)
    begin = forms.CharField(
        label=_("Not before"), required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )  # fmt: skip
    folder = forms.CharField(
        label=_("Folder"), required=False, max_length=200,
        help_text=_("A folder in the project's, with its code and data; the project's own where nothing is given."),
    )  # fmt: skip
    git = forms.CharField(
        label=_("Code from git"), required=False, max_length=500,
        help_text=_("As https://host/path.git@commit: fetched into a new folder, in which the script then starts."),
    )  # fmt: skip
    reservation = forms.CharField(label=_("Reservation"), required=False, max_length=200)
    tasks_per_node = forms.CharField(label=_("Tasks per node"), required=False)
    gpus_per_task = forms.CharField(label=_("GPUs per task"), required=False)
    constraint = forms.CharField(
        label=_("Features of the nodes"), required=False, max_length=200,
        help_text=_("As sbatch takes them, for example a100&ib."),
    )  # fmt: skip
    exclusive = Switch(label=_("Nodes for itself"), required=False)
    signal = forms.CharField(
        label=_("Signal before the end"), required=False, max_length=40,
        help_text=_("USR1@120 sends USR1 to what srun started, 120 seconds before the end."),
    )  # fmt: skip
    requeue = forms.CharField(label=_("May run again"), required=False, widget=forms.Select(choices=YES_NO))
    environment = forms.CharField(
        label=_("Variables"), required=False, max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}), help_text=_("One a line: NAME=value."),
    )  # fmt: skip
    separate_errors = Switch(label=_("Errors in a file of their own"), required=False)
    script = forms.CharField(label=_("Script"), strip=False, widget=forms.Textarea(attrs={"rows": 14}), initial=EXAMPLE)

    spec: specs.JobSpec
    chosen: Allocation

    def __init__(self, *args: Any, project: Project, by: User | None = None, preset: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project, self.by, self.preset = project, by, preset
        if not settings.GIT_PREFIXES:
            del self.fields["git"]
        self.fields["name"].required = self.fields["script"].required = not preset

    def clean(self) -> dict[str, Any]:
        """Judge all fields together; each message lands beside its field."""
        raw, wrong = request_of(self.cleaned_data, preset=self.preset)
        try:
            self.spec, self.chosen = prepare(raw, project=self.project, by=self.by)
        except specs.BadSpec as bad:
            wrong |= bad.errors
        for field, said in wrong.items():
            if field not in self.errors:
                self.add_error(field if field in self.fields else None, forms.ValidationError(said))
        return raw

    def more(self) -> list[tuple[str | Promise, list[forms.BoundField], bool]]:
        """The rarely used fields: (title, fields, whether the disclosure is open: something is said in it)."""
        return [
            (title, fields, any(one.value() or one.errors for one in fields))
            for title, names in GROUPS
            if (fields := [self[name] for name in names if name in self.fields])
        ]


def request_of(values: Mapping[str, Any], *, preset: str = "") -> tuple[dict[str, Any], dict[str, list[str]]]:
    """(the request as `prepare` takes it, field -> why it is none) of what a form holds."""
    unsaid = ("", "off") if preset else ("",)  # what is not ticked says nothing against the preset
    raw, wrong = {name: value for name, value in values.items() if value not in unsaid}, dict[str, list[str]]()
    if "script" in raw:
        raw["script"] = raw["script"].replace("\r\n", "\n")  # browsers send DOS line ends
    for field, read in (("environment", tables.variables), ("parameters", tables.parameters)):
        try:
            raw[field] = read(str(raw.get(field) or ""))
        except tables.Unreadable as why:
            wrong[field], raw[field] = [str(why)], None
    if preset:
        raw["preset"] = preset
    return raw, wrong


def of_preset(version: PresetVersion) -> dict[str, Any]:
    """What the form starts with: a switch is a word where it is a choice."""
    found = {name: value for name, value in version.values().items() if name in JobForm.base_fields}
    if isinstance(found.get("requeue"), bool):
        found["requeue"] = "yes" if found["requeue"] else "no"
    return found


def like(job: Job) -> dict[str, Any]:
    """The fields of a job asked for before, to ask for it again."""
    options = {name: value for name, value in job.options.items() if name not in ("after", "begin", "preset")}
    return {
        "name": job.name, "partition": job.partition, "gpu_type": job.gpu_type, "gpus": job.gpus, "nodes": job.nodes,
        "cpus": job.cpus, "memory_gb": max(1, job.memory_mb // 1024), "time_limit_minutes": job.time_limit_minutes,
        "allocation": job.allocation.code if job.allocation else "", "script": job.script or EXAMPLE,
        "datasets": " ".join(f"{one['code']}@{one['version']}" for one in job.datasets),
        **as_typed({"environment": job.environment, **options}),
    }  # fmt: skip
