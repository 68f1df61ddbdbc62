"""The catalogue of events: for each action its number, class, outcomes and fields. `of(action)` is the one way to ask.

A new action is one row in the part it belongs to; a test fails where one is missing, and where code records a field
that is not declared here. `manage.py event_catalogue` writes docs/audit-events.md from it.
"""

from __future__ import annotations

from audit.catalogue import cluster, data, files, jobs, keeping, people, projects, ready, trail
from audit.catalogue.entry import PLACES, Entry, Kind, RetentionClass

ALL: tuple[Entry, ...] = (
    *people.ENTRIES,
    *projects.ENTRIES,
    *jobs.ENTRIES,
    *ready.ENTRIES,
    *files.ENTRIES,
    *trail.ENTRIES,
    *keeping.ENTRIES,
    *data.ENTRIES,
    *cluster.ENTRIES,
)
_BY_ACTION = {entry.action.value: entry for entry in ALL}


class NotInCatalogue(LookupError):
    """There is no such action; the trail may hold it all the same, written by another version."""


def of(action: str) -> Entry:
    """What there is to know about an action (or its code in words, e.g. "job.ended"). Raises NotInCatalogue."""
    try:
        return _BY_ACTION[str(action)]
    except KeyError:
        raise NotInCatalogue(f"{action}: declare it in audit/catalogue/") from None


def in_class(retention_class: RetentionClass) -> list[str]:
    """The actions of a class."""
    return [entry.action.value for entry in ALL if entry.retention_class is retention_class]


__all__ = ["ALL", "PLACES", "Entry", "Kind", "NotInCatalogue", "RetentionClass", "in_class", "of"]
