"""The submit form: plain fields, judged by the same check as the API's request."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from jobs import specs
from jobs.models import Job
from jobs.services import prepare
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


class JobForm(forms.Form):
    """One job of one project. `spec` and `allocation` are set once it is valid."""

    name = forms.CharField(label=_("Name"), max_length=64)
    partition = forms.CharField(label=_("Partition"), required=False)
    gpu_type = forms.CharField(label=_("GPU type"), required=False)
    gpus = forms.CharField(label=_("GPUs per node"), required=False, initial=1)
    nodes = forms.CharField(label=_("Nodes"), required=False, initial=1)
    cpus = forms.CharField(label=_("CPUs per node"), required=False, initial=4)
    memory_gb = forms.CharField(label=_("Memory per node (GB)"), required=False, initial=8)
    time_limit_minutes = forms.CharField(label=_("Time limit (minutes)"), required=False, initial=60)
    allocation = forms.CharField(label=_("Allocation"), required=False)
    datasets = forms.CharField(label=_("Datasets"), required=False, max_length=1000)
    folder = forms.CharField(
        label=_("Folder"), required=False, max_length=200,
        help_text=_("A folder in the project's, with its code and data; the project's own where nothing is given."),
    )  # fmt: skip
    script = forms.CharField(label=_("Script"), strip=False, widget=forms.Textarea(attrs={"rows": 14}), initial=EXAMPLE)

    spec: specs.JobSpec
    chosen: Allocation

    def __init__(self, *args: Any, project: Project, by: User | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project, self.by = project, by

    def clean(self) -> dict[str, Any]:
        """Judge all fields together; each message lands beside its field."""
        raw = dict(self.cleaned_data)
        raw["script"] = (raw.get("script") or "").replace("\r\n", "\n")  # browsers send DOS line ends
        try:
            self.spec, self.chosen = prepare(raw, project=self.project, by=self.by)
        except specs.BadSpec as bad:
            for field, said in bad.errors.items():
                if field in self.errors:
                    continue
                self.add_error(field if field in self.fields else None, forms.ValidationError(said))
        return raw


def like(job: Job) -> dict[str, Any]:
    """The fields of a job asked for before, to ask for it again."""
    return {
        "name": job.name, "partition": job.partition, "gpu_type": job.gpu_type, "gpus": job.gpus, "nodes": job.nodes,
        "cpus": job.cpus, "memory_gb": max(1, job.memory_mb // 1024), "time_limit_minutes": job.time_limit_minutes,
        "allocation": job.allocation.code if job.allocation else "", "script": job.script or EXAMPLE,
        "datasets": " ".join(f"{one['code']}@{one['version']}" for one in job.datasets),
        "folder": job.options.get("folder", ""),
    }  # fmt: skip
