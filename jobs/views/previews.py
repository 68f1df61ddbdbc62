"""The step between a form and its change: what Slurm would be told and which waiting jobs it would block."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.http import SignedInRequest
from jobs.models import Job
from jobs.services import previewing
from projects.models import Project
from quotas import words
from quotas.models import Allocation, Enforcement
from quotas.services import seen

EDIT = "edit"  # back to the form
NOT_KEPT = ("csrfmiddlewaretoken", "confirm", EDIT)
_WHY: dict[str, str | Promise] = {
    "member": _("its owner may no longer submit for the project"),
    "project": _("the project takes no work"),
    "partition": _("its queue is not among those allowed"),
    "allocation": _("its allocation is closed or outside its period"),
    "gpus_at_once": _("it asks for more GPUs at once"),
    "gpu_minutes": _("it may use more GPU-hours than are left"),
    "longest_minutes": _("it may run longer than is allowed"),
    "jobs_running": _("no job may run"),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """A preview as templates/projects/_preview.html draws it; `seen_at`: how old the picture of Slurm is."""

    steps: Sequence[words.Sentence]
    blocked: Sequence[tuple[Job, str | Promise]]
    seen_at: datetime | None

    @property
    def takes(self) -> bool:
        """Whether somebody can do less afterwards."""
        return bool(self.blocked) or any(step.stops for step in self.steps)

    @property
    def fingerprint(self) -> str:
        """The same for the same preview: what was confirmed is what was shown."""
        said = repr([(one.text, one.queues, one.lines) for one in self.steps] + [job.pk for job, _why in self.blocked])
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def show(project: Project, change: Callable[[], object]) -> Shown:
    """What `change` would do; nothing of it stays. Raises what the change raises."""
    found = previewing.preview(project, change)
    titles = dict(Allocation.objects.filter(project=project).values_list("qos", "title"))
    row = Enforcement.objects.filter(project=project).first()
    lines = [seen.step_line(step) for step in found.steps]
    blocked = [(job, _WHY.get(limit, limit)) for job, limit in found.blocked]
    return Shown(words.steps(lines, titles), blocked, row.checked_at if row else None)


def first(
    request: SignedInRequest, project: Project, change: Callable[[], object], *, title: str, back: str, yes: str,
    always: bool = True, note: str = "",
) -> HttpResponse | None:  # fmt: skip
    """The page to look at before it is done; None where just what it shows was confirmed. Raises what `change` does.

    `title` says what is about to change, `yes` is the word on the button, `back` where no leads to. Not `always`:
    also None where nobody can do less afterwards. `note`: what becomes of jobs that run or wait.
    """
    shown = show(project, change)
    if request.POST.get("confirm") == shown.fingerprint or not (always or note or shown.takes):
        return None
    kept = [(name, value) for name, values in request.POST.lists() if name not in NOT_KEPT for value in values]
    context: dict[str, Any] = {
        "project": project, "preview": shown, "title": title, "back": back, "yes": yes, "kept": kept,
        "changed": "confirm" in request.POST, "note": note,
    }  # fmt: skip
    return render(request, "projects/preview.html", context)
