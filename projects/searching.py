"""Searching the directory for somebody to include: paced, and with what the project knows of whom was found."""

from __future__ import annotations

import dataclasses

from accounts import lookup, pace
from accounts.lookup import Entry
from accounts.models import User
from projects import refusals
from projects.models import Membership, Project


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """One person of the answer; whoever is in the project already, or locked, cannot be chosen."""

    entry: Entry
    is_member: bool = False

    @property
    def can_be_chosen(self) -> bool:
        """Whether there is something to add."""
        return not self.is_member and not self.entry.locked


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What a search brought; `trouble` says in words why it brought nothing."""

    words: str = ""
    people: tuple[Found, ...] = ()
    trouble: str = ""


def search(words: str, *, by: User, project: Project | None = None) -> list[Found]:
    """Raises TooShort, TooManySearches, DirectoryDown."""
    pace.check(by=by)
    entries = lookup.search(words)
    members: set[object] = set()
    if project is not None and entries:
        rows = Membership.objects.active().filter(
            project=project, user__directory_id__in=[entry.directory_id for entry in entries]
        )
        members = set(rows.values_list("user__directory_id", flat=True))
    return [Found(entry, entry.directory_id in members) for entry in entries]


def answer(words: str, *, by: User, project: Project | None = None) -> Answer:
    """As a page shows it: nothing typed finds nothing, and trouble is told in words."""
    if not words.strip():
        return Answer()
    try:
        return Answer(words, tuple(search(words, by=by, project=project)))
    except refusals.REFUSALS as error:
        return Answer(words, trouble=str(refusals.of(error).words))
