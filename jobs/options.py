"""Options: what a request says beyond its amounts (array, dependencies, begin time ...), and where it came from."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from slurm import text

KINDS = ("ok", "any", "notok")


class After(NamedTuple):
    """This job starts once `job` (the portal's id) has ended: kind "ok", "any" or "notok"."""

    kind: str
    job: str


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """Nothing of it need be given. `begin` is ISO 8601 in UTC; `requeue` None means what the site does."""

    tasks_per_node: int = 0
    gpus_per_task: int = 0
    exclusive: bool = False
    constraint: str = ""
    reservation: str = ""
    begin: str = ""
    signal: str = ""  # "B:USR1@120"
    requeue: bool | None = None
    array: str = ""  # "1-100%8"
    after: tuple[After, ...] = ()
    separate_errors: bool = False
    preset: str = ""  # "name@3"
    software: str = ""  # "name@version"
    parameters: tuple[Mapping[str, Any], ...] = ()  # of a sweep, one a task
    git: str = ""  # "https://host/path.git@commit": fetched at its start, which is in it
    folder: str = ""  # where it starts, from the project's folder on

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Options:
        """From what `stored` gave."""
        known = {name: stored[name] for name in cls.__slots__ if name in stored}
        if "after" in known:
            known["after"] = tuple(After(one["kind"], one["job"]) for one in known["after"])
        if "parameters" in known:
            known["parameters"] = tuple(known["parameters"])
        return cls(**known)

    def stored(self) -> dict[str, Any]:
        """As JSON keeps it: what was not asked for is left out."""
        found = {name: getattr(self, name) for name in self.__slots__}
        found["after"] = [one._asdict() for one in self.after]
        found["parameters"] = [dict(one) for one in self.parameters]
        kept = {name: value for name, value in found.items() if value not in ("", 0, None, [])}
        return kept | ({"requeue": False} if self.requeue is False else {})  # said, where None is not

    @property
    def task_numbers(self) -> list[int]:
        """Of the array, sorted."""
        return text.tasks(self.array) if self.array else []

    @property
    def tasks(self) -> int:
        """Tasks of the array; 1 where there is none."""
        return len(self.task_numbers) if self.array else 1

    @property
    def at_once(self) -> int:
        """How many of them can run at once: the throttle, where there is one."""
        return min(self.tasks, text.throttle(self.array) or self.tasks)
