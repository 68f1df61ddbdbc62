"""Orders that slurmrestd has no call for, in the words of scontrol and scancel: requeue, limits, parts of arrays."""

from __future__ import annotations

import dataclasses
import enum
import re

from slurm.contract import Refused

TASKS = re.compile(r"[0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*")
LONGEST = 4096  # characters of a list of tasks
MOST_MINUTES = 5_256_000


class Verb(enum.StrEnum):
    """What is ordered."""

    REQUEUE = "requeue"  # stop it and let it wait again
    LIMIT = "limit"  # another time limit in minutes; an ordinary user may only lower it
    AT_ONCE = "at_once"  # how many tasks of the array run at once
    END_TASKS = "end_tasks"  # cancel these tasks: "3,5-7"
    RELEASE = "release"  # also what an administrator holds


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """One order about one job of Slurm's; `number` and `tasks` as the verb needs them."""

    verb: Verb
    job_id: int
    number: int = 0
    tasks: str = ""

    def argv(self) -> tuple[str, ...]:
        """The command. Raises Refused where the order is none."""
        self.check()
        name = str(int(self.job_id))
        return {
            Verb.REQUEUE: ("scontrol", "requeue", name),
            Verb.LIMIT: ("scontrol", "update", f"JobId={name}", f"TimeLimit={self.number}"),
            Verb.AT_ONCE: ("scontrol", "update", f"JobId={name}", f"ArrayTaskThrottle={self.number}"),
            Verb.END_TASKS: ("scancel", f"{name}_[{self.tasks}]"),
            Verb.RELEASE: ("scontrol", "release", name),
        }[self.verb]

    def check(self) -> None:
        """Raise Refused unless number and tasks have the form and range the verb needs."""
        good = self.job_id > 0
        if self.verb in (Verb.LIMIT, Verb.AT_ONCE):
            good = good and (1 if self.verb is Verb.LIMIT else 0) <= self.number <= MOST_MINUTES
        if self.verb is Verb.END_TASKS:
            good = good and len(self.tasks) <= LONGEST and TASKS.fullmatch(self.tasks) is not None
        if not good:
            raise Refused(f"no order: {self.verb} {self.number} {self.tasks[:50]}")
