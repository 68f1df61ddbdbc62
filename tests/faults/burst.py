"""Jobs asked for under one name, and how they stand on both sides: the portal's rows and Slurm's own record."""

from __future__ import annotations

import itertools
import os
from collections import Counter

from tests.bench.place import JSON, RESEARCHERS, Answer, Client, Place, request, until
from tests.bench.submitting import runs

_names = itertools.count()
TRUE = "#!/bin/bash\ntrue\n"


class Burst:
    """Every answer of the portal to it is kept."""

    def __init__(self, place: Place, script: str = TRUE, user: str = RESEARCHERS[0]) -> None:
        self.place, self.script, self.user = place, script, user
        self.name = f"fault-{os.getpid()}-{next(_names)}"
        self.answers: dict[str, Answer] = {}  # by idempotency key
        self._caller: Client | None = None

    def ask(self, count: int = 1) -> list[Answer]:
        """So many more, one after the other."""
        return [self.ask_with(f"{self.name}-{len(self.answers)}") for _ in range(count)]

    def ask_with(self, key: str) -> Answer:
        """One, under this key."""
        self._caller = self._caller or self.place.api(self.user)
        body = request(self.name, self.script)
        self.answers[key] = self._caller.post("/api/v1/jobs", body, **JSON, **{"Idempotency-Key": key})
        return self.answers[key]

    def statuses(self) -> Counter[int]:
        return Counter(answer.status for answer in self.answers.values())

    def keys(self) -> set[str]:
        """Those the portal has a row for."""
        return {
            str(row[0]) for row in self.place.rows("SELECT idempotency_key FROM jobs_job WHERE name = %s", self.name)
        }

    def states(self) -> Counter[str]:
        """The portal's words for them."""
        found = self.place.rows("SELECT state, count(*) FROM jobs_job WHERE name = %s GROUP BY state", self.name)
        return Counter({str(state): int(number) for state, number in found})

    def phases(self) -> set[str]:
        return {
            str(row[0]) for row in self.place.rows("SELECT DISTINCT phase FROM jobs_job WHERE name = %s", self.name)
        }

    def over(self, seconds: float) -> None:
        """Wait until the portal knows how each ended."""
        until(lambda: not self.phases() & OPEN, seconds=seconds, what=f"over: {self.name}", every=0.5)

    def ran(self) -> list[int]:
        """How often each job of the portal ran to its end, by Slurm's own record."""
        return sorted(runs(self.place, self.name).values())


OPEN = {"requested", "handing", "confirming", "accepted"}
