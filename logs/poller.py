"""One thread that looks at the size of watched files: often where something is being written, seldom elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Callable

HOT, COLD = 0.005, 0.025  # seconds between two looks at a file that grew lately, and at one that did not
WARMTH = 5.0  # seconds a file counts as growing after it grew
MAX_LOST = 64  # threads in calls that never return; with more, new files are not watched until some do
MAX_HOT = 32  # with more files than these growing, all are looked at as seldom as the cold ones
HANG = 2.0  # seconds in one call after which the thread is given up and another takes its place

Stamp = tuple[int, int, int]  # size, mtime in ns, links
Notice = Callable[[], None]


@dataclasses.dataclass(slots=True, eq=False)
class Watch:
    """One watched file: a descriptor of the poller's own, so that nobody else's closing can hit a stranger's file."""

    held: list[int]  # the descriptor, until somebody pops it to close it: pop is atomic, so it is closed once
    notice: Notice  # called on the loop when size, mtime or links changed
    stamp: Stamp | None = None
    grew: float = 0.0
    due: float = 0.0
    ended: bool = False

    def close(self) -> None:
        """Close the descriptor, if nobody has yet."""
        with contextlib.suppress(IndexError):
            os.close(self.held.pop())

    def hot(self, now: float) -> bool:
        """Whether it grew lately."""
        return bool(self.grew) and now - self.grew < WARMTH


class Poller:
    """Watches any number of files at the cost of one fstat a file and look, whoever and however many wait for them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._round: _Round | None = None
        self._watches: set[Watch] = set()
        self._lost = 0  # threads left behind in a call that has not returned
        self.looks = 0  # fstat calls made so far, for /status and the tests

    @property
    def watching(self) -> int:
        """How many files are watched now."""
        return len(self._watches)

    def watch(self, descriptor: int, notice: Notice) -> Watch:
        """Begin: `notice` is called on the loop after every change, until `end`."""
        watch = Watch([os.dup(descriptor)], notice)
        self._watches.add(watch)
        if self._lost < MAX_LOST:
            self._take_on(watch)
        return watch

    def end(self, watch: Watch) -> None:
        """Stop looking; the thread closes its descriptor when it next comes by, and ends with the last one."""
        watch.ended = True
        self._watches.discard(watch)

    def rescue(self) -> None:
        """To be called now and then: leave a thread that hangs behind and go on without the file it hangs on."""
        hanging = self._round and self._round.hanging(time.monotonic())
        if self._round and hanging:
            self._lost += 1
            self._round = self._round.leave_behind(hanging)

    def take_back(self, watch: Watch) -> None:
        """From a thread that was left behind and has returned."""
        self._lost -= 1
        if not watch.ended:
            self._take_on(watch)

    def _take_on(self, watch: Watch) -> None:
        """Put a watch into the thread's round, starting one where none runs."""
        if self._round is None or not self._round.add(watch):
            self._round = _Round(self, [watch])

    def on_loop(self, call: Callable[..., None], *arguments: Watch) -> None:
        """From a thread: have the loop call."""
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(call, *arguments)


class _Round:
    """The thread that goes round its watches until none is left, or one of them hangs and it is left behind with it."""

    def __init__(self, poller: Poller, watches: list[Watch]) -> None:
        self._poller, self._watches = poller, watches
        self._lock = threading.Lock()
        self._over = False
        self._left_with: Watch | None = None
        self._now_at: tuple[Watch, float] | None = None
        threading.Thread(target=self._run, name="poller", daemon=True).start()

    def add(self, watch: Watch) -> bool:
        """Take one more; False where this thread takes none any more."""
        with self._lock:
            if not self._over:
                self._watches.append(watch)
            return not self._over

    def hanging(self, now: float) -> Watch | None:
        """The watch whose call has lasted too long."""
        at = self._now_at
        return at[0] if at and now - at[1] > HANG else None

    def leave_behind(self, hanging: Watch) -> _Round | None:
        """Give all other watches to a new thread; this one hands back the hanging one when its call returns."""
        with self._lock:
            self._over, self._left_with = True, hanging
            others = [watch for watch in self._watches if watch is not hanging]
        return _Round(self._poller, others) if others else None

    def _run(self) -> None:
        while self._go_round(time.monotonic()):
            hot = sum(watch.hot(time.monotonic()) for watch in self._watches)
            time.sleep(HOT if 0 < hot <= MAX_HOT else COLD)
        if self._left_with:
            if self._left_with.ended:
                self._left_with.close()
            self._poller.on_loop(self._poller.take_back, self._left_with)

    def _go_round(self, now: float) -> bool:
        """Visit every watch; False when this thread's work is done."""
        for watch in list(self._watches):
            if watch.due <= now or watch.ended:
                self._visit(watch, now)
            if self._over:
                return False
        with self._lock:
            self._watches = [watch for watch in self._watches if watch.held]
            self._over = self._over or not self._watches
        return not self._over

    def _visit(self, watch: Watch, now: float) -> None:
        self._now_at = (watch, time.monotonic())
        if watch.ended:
            watch.close()
        else:
            self._look(watch, now)
        self._now_at = None

    def _look(self, watch: Watch, now: float) -> None:
        stamp = _stamp(watch)
        self._poller.looks += 1
        if stamp != watch.stamp:
            watch.grew = now if watch.stamp else 0.0  # the first look is no growth
            watch.stamp = stamp
            self._poller.on_loop(watch.notice)
        watch.due = now + 0.9 * (HOT if watch.hot(now) else COLD)


def _stamp(watch: Watch) -> Stamp | None:
    try:
        status = os.fstat(watch.held[0])
    except (OSError, IndexError):  # ESTALE, EIO, closed: a change like any other, who looks closer meets it again
        return None
    return status.st_size, status.st_mtime_ns, status.st_nlink
