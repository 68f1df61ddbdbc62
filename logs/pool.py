"""Calls that touch a file system, in threads and with a deadline: one that hangs costs a thread, never the loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
WORKERS = 64
LANES = 4  # calls of one owner at a time: a hung file system of one person leaves threads for the others


class Stalled(Exception):
    """The file system gave no answer in time; the call may still be waiting in its thread."""


class Pool:
    """Threads shared by all owners, a few lanes for each owner, and a deadline (seconds) for every call."""

    def __init__(self, *, deadline: float) -> None:
        self.deadline = deadline
        self._threads = ThreadPoolExecutor(WORKERS, thread_name_prefix="file")
        self._lanes: dict[int, asyncio.Semaphore] = {}
        self._users: Counter[int] = Counter()  # waiting for or in a lane: when none is left, the lane goes

    async def run(self, uid: int, call: Callable[[], T], ended: Callable[[], None]) -> T:
        """Run `call` in a lane of `uid`; `ended` runs on the loop once, when it really is over or never began.

        Raises Stalled after the deadline, and whatever `call` raises. A cancelled caller leaves the call running.
        """
        self._users[uid] += 1
        lane = self._lanes.setdefault(uid, asyncio.Semaphore(LANES))
        future = None
        try:
            async with asyncio.timeout(self.deadline):
                await lane.acquire()
                future = self._submit(uid, call, ended)
                return await asyncio.shield(future)
        except TimeoutError as error:
            if future is not None and future.done():
                raise  # the call's own error, ETIMEDOUT of a network file system
            raise Stalled from error
        finally:
            if future is None:
                ended()
            self._leave_lane(uid)

    def leave(self, call: Callable[[], None]) -> None:
        """Run `call` in a thread some time, and look at neither its end nor its outcome."""
        self._threads.submit(call)

    def _submit(self, uid: int, call: Callable[[], T], ended: Callable[[], None]) -> asyncio.Future[T]:
        lane = self._lanes[uid]
        self._users[uid] += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, call)

        def over(done: asyncio.Future[T]) -> None:
            if not done.cancelled():
                done.exception()  # looked at, so that an abandoned call's error is not reported as lost
            lane.release()
            self._leave_lane(uid)
            ended()

        future.add_done_callback(over)
        return future

    def _leave_lane(self, uid: int) -> None:
        self._users[uid] -= 1
        if not self._users[uid]:
            del self._users[uid], self._lanes[uid]
