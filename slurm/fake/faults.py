"""What can be wrong with the fake cluster: a daemon down or stopped, an answer lost."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable

from slurm.contract import SlurmError, Unanswered, Unreachable

DAEMONS = ("slurmrestd", "slurmctld", "slurmdbd")


@dataclasses.dataclass
class Health:
    """`down`: refuses connections. `stopped`: takes requests (SIGSTOP) and acts on them once it is continued."""

    down: set[str] = dataclasses.field(default_factory=set)
    stopped: set[str] = dataclasses.field(default_factory=set)
    answers_to_lose: int = 0
    to_raise: deque[SlurmError] = dataclasses.field(default_factory=deque)
    steps_until_silence: int | None = None
    waiting: list[Callable[[], object]] = dataclasses.field(default_factory=list)

    def check(self, *daemons: str) -> None:
        """Raise what a read of these daemons would."""
        for daemon in daemons:
            if daemon in self.down:
                raise Unreachable(f"{daemon} is down")
        for daemon in daemons:
            if daemon in self.stopped:
                raise Unanswered(f"{daemon} does not answer")

    def act(self, deed: Callable[[], object]) -> None:
        """Gate an act on slurmctld: a stopped one does it later, though the caller gets no answer."""
        if not {"slurmrestd", "slurmctld"} & self.down and "slurmctld" in self.stopped:
            self.waiting.append(deed)
        self.check("slurmrestd", "slurmctld")

    def carry_out(self) -> None:
        """What a continued slurmctld finds in its queue."""
        waiting, self.waiting = self.waiting, []
        for deed in waiting:
            try:
                deed()
            except SlurmError:
                continue

    def cut(self) -> int | None:
        """How many of the steps that come now are done before there is silence; None for all. Once only."""
        steps, self.steps_until_silence = self.steps_until_silence, None
        return steps

    def answer(self) -> None:
        """After an act is done: its answer may be lost on the way."""
        if self.answers_to_lose:
            self.answers_to_lose -= 1
            raise Unanswered("the answer was lost")
