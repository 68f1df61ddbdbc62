"""How much one comparison may take away: the plans of a pass share one cap on removals."""

from __future__ import annotations

import dataclasses

from slurm.books import Books
from slurm.plan import Plan, plan


@dataclasses.dataclass(slots=True)
class Cap:
    """`left`: how many removals are left to it (None: as many as there are)."""

    left: int | None = None

    def plan(self, goal: Books, there: Books) -> Plan:
        """As `slurm.plan` has it, within what is left, which is less by what it removes."""
        todo = plan(goal, there, removals=self.left)
        if self.left is not None:
            self.left -= sum(step.removes for step in todo.steps)
        return todo
