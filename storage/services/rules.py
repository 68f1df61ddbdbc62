"""The rules of data hold on files, too: what a job on personal data wrote, what is not given out, raw data themselves.

A file counts as written by such a job where it is its person's and not older than the job's start: nothing else is
known of a file. That is more than the job wrote, never less, as long as nobody sets clocks back; who does that owns
the file, and holds it anyway.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from django.utils.translation import gettext as _

from access.errors import Refused
from access.permissions import Permission
from accounts.models import User
from datasets.services import reading
from files.client import Door, Entry
from projects.models import Project


@dataclasses.dataclass(frozen=True, slots=True)
class Rules:
    """What data bind in one project's folder, for one reader."""

    project: Project
    written: Sequence[reading.Standing]
    kept: Sequence[reading.Kept]

    def may_read(self, path: str, entry: Entry) -> None:
        """Raises access.errors.Refused, which says of which dataset and whom to ask."""
        for one in self._bound(path, entry):
            self._is_open(path, one)

    def may_take(self, path: str, entry: Entry) -> None:
        """The same, and that no dataset keeps it in the portal."""
        self.may_read(path, entry)
        for one in self._bound(path, entry):
            self._is_given_out(path, one)

    def may_take_all(self, door: Door, path: str) -> None:
        """That nothing beneath a folder may not be taken; asks the door where files of such a job could lie."""
        for place in self.kept:
            if _is_in(place.path, path) or _is_in(path, place.path):
                self._may_leave(place, path)
        for one in self.written:
            bound = not (one.may_read and one.dataset.downloads)
            found = door.walk(path, since=_since(one), uid=_uid(one), limit=1) if bound else None
            if found and (found.count or found.cut):
                raise self._refused(path, one.dataset, _not_given_out(one))

    def may_move(self, path: str, to: str) -> None:
        """That nothing gets out of where data are bound but what may be taken anyway. What a job wrote stays bound by
        its person and time, whatever it is called."""
        for place in self.kept:
            leaves = _is_in(path, place.path) and not _is_in(to, place.path)
            if leaves or _is_in(place.path, path):
                self._may_leave(place, path)

    def _may_leave(self, place: reading.Kept, path: str) -> None:
        self._is_open(path, place)
        self._is_given_out(path, place)

    def _is_open(self, path: str, one: reading.Standing | reading.Kept) -> None:
        if not one.may_read:
            raise self._refused(path, one.dataset, _shut(one))

    def _is_given_out(self, path: str, one: reading.Standing | reading.Kept) -> None:
        if not one.dataset.downloads:
            raise self._refused(path, one.dataset, _not_given_out(one))

    def _bound(self, path: str, entry: Entry) -> list[reading.Standing | reading.Kept]:
        return [*self._of(entry), *self._kept_at(path)]

    def _of(self, entry: Entry) -> list[reading.Standing]:
        if not entry.is_file:
            return []
        return [one for one in self.written if entry.uid == _uid(one) and entry.mtime >= _since(one)]

    def _kept_at(self, path: str) -> list[reading.Kept]:
        return [one for one in self.kept if _is_in(path, one.path)]

    def _refused(self, path: str, dataset: reading.Dataset, why: str) -> Refused:
        key: dict[str, object] = {"code": self.project.code, "dataset": dataset.code}
        return Refused(Permission.LOG_READ, Project._meta.label_lower, key, why)


def rules(project: Project, reader: User) -> Rules:
    """What binds here: two statements."""
    return Rules(project, reading.of_project(project, reader), reading.kept_in(project, reader))


def may_move(project: Project, reader: User, path: str, to: str) -> None:
    """`Rules.may_move` for one who asks no more than that: one statement."""
    Rules(project, (), reading.kept_in(project, reader)).may_move(path, to)


def _is_in(path: str, folder: str) -> bool:
    """At or beneath; "" is the project's whole folder."""
    return not folder or f"{path}/".startswith(f"{folder}/")


def _uid(one: reading.Standing) -> int:
    return one.use.user.uid_number or -1


def _since(one: reading.Standing) -> int:
    return int(one.use.started_at.timestamp()) if one.use.started_at else 2**62


def _shut(one: reading.Standing | reading.Kept) -> str:
    return _(
        "It may hold personal data of the dataset %(name)s, and is read by who has a permission to use it that holds "
        "today and has accepted its terms of use. Ask its data steward, %(steward)s."
    ) % {"name": one.dataset.name, "steward": one.dataset.steward.name}


def _not_given_out(one: reading.Standing | reading.Kept) -> str:
    return _("What comes of the dataset %(name)s can be looked at here and is not given out.") % {
        "name": one.dataset.name
    }
