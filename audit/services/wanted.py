"""Which events an export writes out whole: a filter whose words are numbers already, so that it says the same later."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Any

# field -> condition over an event `e`; none of them names anything a caller could write
_CONDITIONS = {
    "project_id": "e.project_id = %s",
    "actor_id": "e.actor_id = %s",
    "projects": "e.project_id = ANY(%s)",
    "people": "(e.actor_id = ANY(%s) OR (e.subject_type = 'user' AND e.subject_id = ANY(%s)))",
    "datasets": "(e.subject_type = 'dataset' AND e.subject_id = ANY(%s))",
    "job": "(e.subject_type = 'job' AND e.subject_id = %s)",
    "addresses": "e.address_ref = ANY(%s::uuid[])",
    "action": "e.action = %s",
    "outcome": "e.outcome = %s",
    "correlation": "e.correlation = %s",
    "since": "e.at >= %s",
    "until": "e.at < %s",
}
_TIMES = {"since", "until"}
_PARTS = {
    "projects": "e.project_id = ANY(%s)",
    "datasets": "e.subject_type = 'dataset' AND e.subject_id = ANY(%s)",
    "since": "e.at >= %s::timestamptz",
    "until": "e.at < %s::timestamptz",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """Nothing given: all of them. An empty list is nobody: what was asked for is not known, so no event fits."""

    project_id: int | None = None  # a project's own trail
    actor_id: int | None = None
    projects: list[int] | None = None
    people: list[int] | None = None  # did it, or had it done to them
    datasets: list[str] | None = None
    job: str = ""
    addresses: list[str] | None = None
    action: str = ""
    outcome: str = ""
    correlation: str = ""
    since: datetime | None = None
    until: datetime | None = None  # not included
    # a guest auditor's parts of the trail, as `GuestAuditor.part` says them; one of them at least must fit
    scope: list[dict[str, Any]] | None = None

    def asked(self) -> dict[str, Any]:
        """What is given."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in found.items() if value not in (None, "")}

    def sql(self) -> tuple[str, list[Any]]:
        """A condition over `e`, and its values."""
        asked = self.asked()
        within, values = _within(asked.pop("scope", None))
        for name, value in asked.items():
            values.append(value)
            if name == "people":
                values.append([str(number) for number in value])
        return " AND ".join([*within, *(_CONDITIONS[name] for name in asked)]) or "true", values

    def times(self) -> tuple[datetime | None, datetime | None]:
        """(no event that fits is earlier, none is as late); None: there is no such bound."""
        parts = [Wanted.from_plain({name: part[name] for name in part.keys() & _TIMES}) for part in self.scope or []]
        since = [part.since for part in parts if part.since] if all(part.since for part in parts) else []
        until = [part.until for part in parts if part.until] if all(part.until for part in parts) else []
        starts = [one for one in (self.since, min(since, default=None)) if one]
        return max(starts, default=None), min(
            [one for one in (self.until, max(until, default=None)) if one], default=None
        )

    def plain(self) -> dict[str, Any]:
        """For a row's JSON."""
        return {
            name: value.isoformat() if isinstance(value, datetime) else value for name, value in self.asked().items()
        }

    @classmethod
    def from_plain(cls, said: dict[str, Any]) -> Wanted:
        """The same again."""
        times = {name: datetime.fromisoformat(said[name]) for name in _TIMES if said.get(name)}
        return cls(**said | times)


def _within(scope: list[dict[str, Any]] | None) -> tuple[list[str], list[Any]]:
    """The condition of a scope, if there is one, and its values. A scope without parts is nothing."""
    if scope is None:
        return [], []
    asked = [{name: part[name] for name in _PARTS if part.get(name) is not None} for part in scope]
    ways = [" AND ".join(_PARTS[name] for name in part) for part in asked]
    condition = " OR ".join(f"({way})" for way in ways) or "false"
    return [f"({condition})"], [value for part in asked for value in part.values()]
