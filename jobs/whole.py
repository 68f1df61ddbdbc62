"""The request in one piece, whichever door it came through: readable, and as the head of an sbatch script."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from django.utils import timezone
from django.utils.translation import gettext as _

from jobs import parameters
from jobs.forms import JobForm
from jobs.services.importing import head
from projects.models import Project
from quotas.reads import AllocationLine

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text

NUMBERS = ("gpus", "nodes", "cpus", "memory_gb", "time_limit_minutes", "tasks_per_node", "gpus_per_task")
COST = ("gpus", "nodes", "time_limit_minutes")
SHORT = 120  # characters of a value in the summary
FIRST = 3  # tasks of an array that are shown


class Missing(NamedTuple):
    """A field in the way, and why."""

    name: str
    label: Text
    said: str


@dataclasses.dataclass(frozen=True, slots=True)
class Whole:
    """`summary`: (label, value) of what is said; `head`: lines for sbatch; minutes are of GPUs, None: not known yet."""

    summary: Sequence[tuple[Text, str]]
    head: Sequence[str]
    missing: Sequence[Missing]  # still to be filled in
    wrong: Sequence[Missing]
    minutes: int | None
    line: AllocationLine | None
    tasks: Sequence[tuple[int, str, str]] = ()  # the first of an array: number, its variables, its command
    rows: int = 0

    @classmethod
    def of(
        cls, raw: Mapping[str, Any], *, form: JobForm, project: Project, line: AllocationLine | None,
        said: Mapping[str, str] = {},
    ) -> Whole:  # fmt: skip
        """Of the fields as they stand, judged or not; `said`: what the summary says for some of them."""
        errors = form.errors if form.is_bound else {}
        plain = {name: _plain(name, value) for name, value in raw.items() if name not in errors}
        found = [Missing(name, form[name].label if name in form.fields else "", " ".join(map(str, why)))
                 for name, why in errors.items()]  # fmt: skip
        empty = [one for one in found if one.name in form.fields and not form[one.name].value()]
        return cls(
            _summary({**raw, **said}, form, errors), [*_ours(plain, project, line), *head(plain)], empty,
            [one for one in found if one not in empty], _minutes(raw), line,
            _first(raw), len(raw.get("parameters") or ()) or _tasks(raw.get("array")) or 0,
        )  # fmt: skip

    @property
    def text(self) -> str:
        """The head as it stands in a file."""
        return "\n".join(self.head)

    @property
    def free_after(self) -> int | None:
        """GPU-minutes that would be left; negative where it does not fit. None: no limit, or not known."""
        free = self.line.balance.free if self.line else None
        return None if free is None or self.minutes is None else free - self.minutes

    @property
    def percent(self) -> float:
        """Its part of the allocation, for the bar, which ends where the allocation does."""
        limit = self.line.balance.limit if self.line else None
        return round(min(max(0.0, 100 - self.before), 100 * (self.minutes or 0) / limit), 1) if limit else 0.0

    @property
    def share(self) -> float | None:
        """Its part of what is free, in percent."""
        free = self.line.balance.free if self.line else None
        return 100 * self.minutes / free if free and self.minutes is not None else None

    @property
    def before(self) -> float:
        """Where it begins on the bar."""
        return self.line.used_percent + self.line.committed_percent if self.line else 0.0


def _plain(name: str, value: Any) -> Any:
    """A number where one is meant; nothing where it is none."""
    if name == "requeue" and isinstance(value, str):
        return {"yes": True, "no": False, "on": True, "off": False}.get(value)
    if value == "off":
        return False
    if name == "begin":
        return _moment(str(value))
    if name not in NUMBERS:
        return value
    return int(value) if re.fullmatch(r"[0-9]{1,9}", str(value).strip()) else 0


def _moment(text: str) -> str:
    """A time on the wall as one that is the same everywhere; "" where it is none."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return (at if at.tzinfo else timezone.make_aware(at)).isoformat()


def _minutes(raw: Mapping[str, Any]) -> int | None:
    """The most GPU-minutes it can use; None where a number is missing or the tasks cannot be counted."""
    amounts = [str(raw.get(name) or 0).strip() for name in COST]
    if not all(re.fullmatch(r"[0-9]{1,9}", one) for one in amounts):
        return None
    gpus, nodes, time = map(int, amounts)
    rows = raw.get("parameters")
    tasks = len(rows) if isinstance(rows, list) and rows and not raw.get("array") else _tasks(raw.get("array"))
    return None if tasks is None else gpus * nodes * time * tasks


def _tasks(array: Any) -> int | None:
    """How many tasks "1-100%8" has."""
    parts = list(_ranges(array))
    total = sum(len(part or ()) for part in parts)
    return None if None in parts else total or (None if array else 1)


def _ranges(array: Any) -> Iterator[range | None]:
    """The numbers of "1-100:2,7%8" part by part; None for a part that says none."""
    for part in str(array or "").split("%")[0].replace(" ", "").split(",") if array else ():
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", part)
        good = match and (match[3] is None or int(match[3]) > 0)
        yield range(int(match[1]), int(match[2] or match[1]) + 1, int(match[3] or 1)) if match and good else None


def _first(raw: Mapping[str, Any]) -> list[tuple[int, str, str]]:
    """The first tasks of an array: number, the variables each will have, as a shell would write them, and its first
    command that names one of these."""
    array, rows = raw.get("array"), raw.get("parameters") or []
    parts, script = list(_ranges(array)), str(raw.get("script") or "")
    if None in parts or not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        return []
    numbers = chain.from_iterable(part or () for part in parts) if array else range(len(rows))
    found = list[tuple[int, str, str]]()
    for number, row in zip(numbers, rows[:FIRST] or [{}] * FIRST, strict=False):
        known = {"SLURM_ARRAY_TASK_ID": str(number)} | parameters.of_task(row)
        said = parameters.words(row) or f"SLURM_ARRAY_TASK_ID={number}"
        found.append((number, said[:SHORT], parameters.command(script, known)[:SHORT]))
    return found


def _summary(raw: Mapping[str, Any], form: JobForm, errors: Mapping[str, Any]) -> list[tuple[Text, str]]:
    found: list[tuple[Text, str]] = []
    for name in form.fields:
        value = raw.get(name)
        if name == "script" or name in errors or value in (None, "", False, "off", [], {}):
            continue
        found.append((form[name].label, _said(value)))
    if raw.get("preset"):
        found.append((_("Preset"), str(raw["preset"])))
    return found


def _said(value: Any) -> str:
    if value is True or value == "on":
        return _("yes")
    if isinstance(value, Mapping):
        return ", ".join(value)[:SHORT]
    if isinstance(value, list):
        return _("%(n)d rows") % {"n": len(value)}
    text = str(value)
    return f"{text[:SHORT]}…" if len(text) > SHORT else text


def _ours(said: Mapping[str, Any], project: Project, line: AllocationLine | None) -> Iterable[str]:
    """What the portal says by itself: whose account, which QOS, where it starts."""
    folder = f"{project.folder}/{said['folder']}" if said.get("folder") else project.folder
    yield f"#SBATCH --account={project.slurm_account}"
    if line and line.allocation.qos:
        yield f"#SBATCH --qos={line.allocation.qos}"
    yield f"#SBATCH --chdir={folder}"


def usable(codes: Iterable[str]) -> str:
    """What stands below the field: the datasets that may be named in it."""
    said = ", ".join(codes)
    return _("Here you may use: %(codes)s.") % {"codes": said} if said else _("You may use none here yet.")
