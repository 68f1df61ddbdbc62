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

    def asked(self) -> dict[str, Any]:
        """What is given."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in found.items() if value not in (None, "")}

    def sql(self) -> tuple[str, list[Any]]:
        """A condition over `e`, and its values."""
        asked = self.asked()
        values: list[Any] = []
        for name, value in asked.items():
            values.append(value)
            if name == "people":
                values.append([str(number) for number in value])
        return " AND ".join(_CONDITIONS[name] for name in asked) or "true", values

    def plain(self) -> dict[str, Any]:
        """For a row's JSON."""
        return {
            name: value.isoformat() if isinstance(value, datetime) else value for name, value in self.asked().items()
        }

    @classmethod
    def from_plain(cls, said: dict[str, Any]) -> Wanted:
        """The same again."""
        times = {name: datetime.fromisoformat(said[name]) for name in ("since", "until") if said.get(name)}
        return cls(**said | times)
