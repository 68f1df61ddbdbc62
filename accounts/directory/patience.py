"""How long we wait for the directory: one deadline a conversation, few conversations at once, a pause after silence."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from accounts.directory.errors import DirectoryDown

AT_ONCE = 4  # conversations a process holds at the same moment: a slow directory must not take every thread
WAIT_SECONDS = 1.0  # for one of them
PAUSE_SECONDS = 3.0  # after silence nobody else waits for it


class Deadline:
    """A point in time that a whole conversation has to keep."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left; raises DirectoryDown when there are none."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise DirectoryDown("no answer in time", silent=True)
        return seconds


class Turns:
    """Lets a few callers in at once, and nobody for a moment after the directory was silent."""

    def __init__(self) -> None:
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._silent_until = 0.0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold one turn. Raises DirectoryDown where none is to be had."""
        if time.monotonic() < self._silent_until:
            raise DirectoryDown("it was silent a moment ago")
        if not self._slots.acquire(timeout=WAIT_SECONDS):
            raise DirectoryDown("too many sign-ins are waiting for it")
        try:
            yield
        except DirectoryDown as error:
            if error.silent:
                self._silent_until = time.monotonic() + PAUSE_SECONDS
            raise
        finally:
            self._slots.release()

    def forget(self) -> None:
        """Ask again at once."""
        self._silent_until = 0.0


TURNS = Turns()
