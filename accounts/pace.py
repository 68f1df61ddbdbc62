"""How fast one person may search the directory: it serves everybody's sign-in, and is no list to be copied out."""

from __future__ import annotations

import time

from django.core.cache import cache

from accounts.models import User

MOST, WINDOW = 60, 60  # searches in so many seconds, in each process


class TooManySearches(Exception):
    """The person searched MOST times in this minute; `wait` is in seconds."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"{MOST} searches a minute")
        self.wait = wait


def check(*, by: User) -> None:
    """Count one search. Raises TooManySearches."""
    window, rest = divmod(time.time(), WINDOW)
    key = f"directory-searches:{by.pk}:{int(window)}"
    cache.add(key, 0, WINDOW)
    if cache.incr(key) > MOST:
        raise TooManySearches(WINDOW - rest)
