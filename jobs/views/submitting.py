"""The submit page as one sheet: what the form holds, behind which door, and all that is drawn of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from django.contrib import messages
from django.forms import BoundField
from django.http import QueryDict
from django.utils.translation import gettext as _

from access import gate
from access.ids import uuid7
from access.permissions import Permission
from accounts.http import SignedInRequest
from datasets.services.using import usable
from jobs import specs, whole
from jobs.doors import Doors, held
from jobs.forms import JobForm, request_of
from jobs.services import picking, planning
from jobs.services.asking import partitions_of
from jobs.services.importing import Finding, drafts
from jobs.services.importing.brought import Brought
from jobs.views.attached import Attached, bounds, may
from presets.services.applying import offered
from projects.models import Project
from quotas import reads

LIMITED = ("gpus", "nodes", "cpus", "memory_gb", "time_limit_minutes")
ELSEWHERE = ("folder", "git")  # fields that say where a job starts
LOOK = "check"  # the button that asks for nothing but the answer


class Row(NamedTuple):
    """One field with what an imported script said of it."""

    field: BoundField
    notes: Sequence[Finding]

    @property
    def is_number(self) -> bool:
        """Whether a limit of the partition stands below it."""
        return self.field.name in LIMITED


@dataclasses.dataclass(slots=True)
class Sheet:
    """The form of one project as it stands at this request."""

    request: SignedInRequest
    project: Project
    theirs: list[Any]
    doors: Doors
    form: JobForm
    attached: Attached
    act: str = ""

    @property
    def is_judged(self) -> bool:
        """Whether its fields are to be checked: it was sent, or somebody wants to know."""
        return self.form.is_bound

    def is_valid(self) -> bool:
        """With what is wrong beside each field, lines of the script among it."""
        for said in self.doors.faults(str(self.form["script"].value() or "")) if self.form.is_bound else ():
            self.form.add_error("script", said)
        folder, git = (str(self.form[name].value() or "") if name in self.form.fields else "" for name in ELSEWHERE)
        self.attached.judge(folder, git, self.doors.rules)
        self.blame()
        return self.form.is_valid()

    def blame(self) -> None:
        """What is wrong with the files stands in the summary, too."""
        for said in self.attached.wrong:
            self.form.add_error(None, _("Files: %(said)s") % {"said": said})

    def raw(self) -> dict[str, Any]:
        """The request its fields make, as far as they make one."""
        values = {name: self.form[name].value() for name in self.form.fields}
        raw, _wrong = request_of(
            {name: "" if one is None else one for name, one in values.items()}, preset=self.doors.name
        )
        found = self.doors.request(raw)
        place = self.attached.place(str(found.get("name") or ""), self.request.POST.get("key", ""), self.request.user)
        return found | {"folder": place} if place and not found.get("folder") else found

    def context(self) -> dict[str, Any]:
        """All the page is drawn from."""
        partitions, form, doors = partitions_of(self.project), self.form, self.doors
        beside = doors.brought.beside()
        return self.parts() | {
            "projects": self.theirs, "partitions": partitions,
            "gpu_types": sorted({name for row in partitions for name in row.gpu_types}),
            "presets": offered(self.project) if doors.is_preset and not doors.version else (),
            "rows": [Row(form[name], beside.get(name, ())) for name in doors.changeable(form)],
            "more": self._more(beside), "fixed": doors.fixed(form), "unseen": doors.unseen(form),
            "differing": doors.differing(form), "findings": doors.brought.findings,
            "replaced": list({one.key: one for one in doors.brought.findings if one.key}.values()),
            "key": self.key(), "limits": {row.name: _limits(row) for row in partitions},
            "usable": whole.usable(next((row.datasets_here for row in self.theirs if row.pk == self.project.pk), ())),
        }  # fmt: skip

    def parts(self) -> dict[str, Any]:
        """What is drawn anew while somebody fills in."""
        advice, lines, raw = self.advice(), reads.spendable(self.project), self.raw()
        code = str(self.form["allocation"].value() or "")
        line = next((one for one in lines if one.allocation.code == code), lines[0] if lines else None)
        return {
            "form": self.form, "doors": self.doors, "project": self.project, "allocations": lines,
            "attached": self.attached, "may_attach": may(self.doors.rules), "bounds": bounds(),
            "advice": advice,
            "slots": self.slots(),
            "whole": whole.Whole.of(raw, form=self.form, project=self.project, line=line, said=self._said(raw)),
        }  # fmt: skip

    def _said(self, raw: Mapping[str, Any]) -> dict[str, str]:
        """What the request says more readably than its field does: jobs by their names."""
        after = raw.get("after")
        return {"after": picking.named(str(after), by=self.request.user)} if after else {}

    def advice(self) -> planning.Advice | None:
        """Of a request whose fields are all well; what would be refused stands beside its field."""
        form = self.form
        if not form.is_bound or not form.is_valid():
            return None
        found = planning.advise(spec=form.spec, allocation=form.chosen, project=self.project, by=self.request.user)
        for field, why in found.refusals:
            form.add_error(field, why)
        return found

    def slots(self) -> list[BoundField]:
        """The fields below which something can be said."""
        groups = [row.field.name for _title, rows, _open in self._more({}) for row in rows]
        fixed = [one.bound.name for one in self.doors.fixed(self.form)]
        names = dict.fromkeys([*self.doors.changeable(self.form), *groups, *fixed, "script"])
        return [self.form[name] for name in names]

    def _more(self, beside: dict[str, list[Finding]]) -> list[Any]:
        """The rarely used fields, without those the preset speaks of."""
        rules = self.doors.rules
        found = [
            (title, [Row(one, beside.get(one.name, ())) for one in fields if one.name not in rules], is_open)
            for title, fields, is_open in self.form.more()
        ]
        return [one for one in found if one[1]]

    def key(self) -> str:
        """A double click sends the same key twice and makes one job; a draft's stays the draft's."""
        data = self.request.POST
        brought = drafts.KEY + self.request.GET["draft"] if "draft" in self.request.GET else data.get("key", "")
        same = self.act or self.attached.is_coming
        return drafts.key_of(brought) or (plain(data.get("key", "")) if same else "") or str(uuid7())


def _limits(row: Any) -> dict[str, Any]:
    return {"gpu_types": row.gpu_types, **{field: specs.most(field, row) for field in LIMITED}}


def sheet(request: SignedInRequest, initial: Callable[[], dict[str, Any]] = dict) -> Sheet | None:
    """As it was sent, or as it begins with what `initial` finds; None where the person may submit nowhere."""
    data = clean(request.POST if request.method == "POST" else request.GET)
    code = data.get("project", "")
    theirs = list(gate.allowing(Project.objects.annotate(datasets_here=usable(request.user)), request.user,
                                Permission.JOB_SUBMIT))  # fmt: skip
    if not theirs and not code:
        return None
    here = [row for row in theirs if row.code == code or not code]
    project: Project = here[0] if here else gate.fetch(Project.objects, request.user, Permission.JOB_SUBMIT, code=code)
    doors = Doors.of(data, project, Brought.of(data, project=project, by=request.user))
    if doors.refusal:
        messages.error(request, doors.refusal)
    act = data.get("act", "") if request.method == "POST" else ""
    act = LOOK if "look" in request.GET else act  # htmx sends the button pressed last along with every look
    start = initial() if request.method == "GET" else {}
    form = _form(request, data, doors, start, act)
    return Sheet(request, project, theirs, doors, form, Attached.of(request, data, act), act)


def _form(request: SignedInRequest, data: QueryDict, doors: Doors, initial: dict[str, Any], act: str) -> JobForm:
    """Bound where it is to be judged; else as it is to be shown."""
    about: dict[str, Any] = {"project": doors.project, "by": request.user}
    if request.method != "POST":
        values = initial if not doors.name else doors.take(initial)
        if values:
            doors.brought.leave(str(values.get("script") or ""))
        doors.kept = ""
        return JobForm(initial=values, **about, preset=doors.name)
    if act in ("", LOOK):
        return JobForm(data, **about, preset=doors.name)
    values = doors.press(act, held(JobForm(**about), data) | _file(request, doors), data)
    return JobForm(initial=values, **about, preset=doors.name)


def _file(request: SignedInRequest, doors: Doors) -> dict[str, str]:
    """A script that came as a file, where the browser could not put it into the field itself."""
    one = request.FILES.get("script_file")
    if one is None:
        return {}
    doors.brought.name = (one.name or "script").replace("\x00", "")[:200]
    try:
        return {"script": drafts.decoded(doors.brought.name, one.read(drafts.LONGEST_SCRIPT + 1))}
    except drafts.NotText as no:
        messages.error(request, str(no))
        return {}


def clean(data: QueryDict) -> QueryDict:
    """All of it plain."""
    found = data.copy()
    for name, values in data.lists():
        found.setlist(name, [plain(value) if isinstance(value, str) else value for value in values])
    return found


def plain(text: str) -> str:
    """Without what PostgreSQL keeps nowhere: it knows no NUL, so nothing of ours holds one."""
    return text.replace("\x00", "\ufffd")
