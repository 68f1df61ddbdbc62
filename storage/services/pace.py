"""How many downloads run at once: each holds a thread of the web process until its reader has taken all of it."""

from __future__ import annotations

import threading
from collections import Counter

MOST = 5  # of a process, whose eight threads serve everybody's pages, too
MOST_OF_ONE = 2


class TooMany(Exception):
    """Others, or the person themselves, take so much just now that one more would hold up the pages."""


class Places:
    """Counted places; `take` one and `leave` it."""

    def __init__(self) -> None:
        self._lock, self._held = threading.Lock(), Counter[int]()

    def take(self, person: int) -> None:
        """Raises TooMany."""
        with self._lock:
            if self._held.total() >= MOST or self._held[person] >= MOST_OF_ONE:
                raise TooMany
            self._held[person] += 1

    def leave(self, person: int) -> None:
        """Give the place to the next."""
        with self._lock:
            self._held[person] -= 1


downloads = Places()
