"""What a check says: ok, trouble with what to do about it, or nothing because another process is the one to ask."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from enum import StrEnum


class State(StrEnum):
    """How it stands."""

    OK = "ok"
    TROUBLE = "not ok"
    ELSEWHERE = "not here"


class Trouble(Exception):
    """Something is wrong: `said` is what, `fix` what to do."""

    def __init__(self, said: str, fix: str) -> None:
        super().__init__(said)
        self.said, self.fix = said, fix


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    name: str
    state: State
    said: str
    fix: str = ""

    def lines(self) -> list[str]:
        """For a terminal."""
        first = f"{self.state:<8}  {self.name:<17}  {self.said}"
        return [first, *([f"{'':<29}→ {self.fix}"] if self.fix else [])]


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """One look. `roles`: the database roles whose processes lean on it; others have no access and no need."""

    name: str
    look: Callable[[], str]
    roles: frozenset[str] = frozenset()

    def run(self, role: str, every: bool) -> Finding:
        """Look, unless this process is not the one to ask. Nothing a check raises ends the report."""
        if self.roles and role not in self.roles and not every:
            return Finding(self.name, State.ELSEWHERE, f"ask as the process of database role {' or '.join(self.roles)}")
        try:
            return Finding(self.name, State.OK, self.look())
        except Trouble as error:
            return Finding(self.name, State.TROUBLE, error.said, error.fix)
        except Exception as error:
            said = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            return Finding(self.name, State.TROUBLE, said, "see the log of this command for the whole error")


def run_all(checks: Iterable[Check], role: str, every: bool) -> list[Finding]:
    """All checks, in order."""
    return [check.run(role, every) for check in checks]
