"""How many downloads run at once: each holds a thread of the web process until its reader has taken all of it. And how
many uploads are checked."""

from __future__ import annotations

import threading
from collections import Counter


class TooMany(Exception):
    """Others, or the person themselves, take so much just now that one more would hold up the pages."""


class Places:
    """Counted places, `most` in all and `most_of_one` of one person; `take` one and `leave` it."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self.most, self.most_of_one = most, most_of_one
        self._lock, self._held = threading.Lock(), Counter[int]()

    def take(self, person: int) -> None:
        """Raises TooMany."""
        with self._lock:
            if self._held.total() >= self.most or self._held[person] >= self.most_of_one:
                raise TooMany
            self._held[person] += 1

    def leave(self, person: int) -> None:
        """Give the place to the next."""
        with self._lock:
            self._held[person] -= 1


downloads = Places(5, 2)  # of a process, whose eight threads serve everybody's pages, too
checks = Places(16, 4)  # these hold a thread of their own, and a child of the door's
