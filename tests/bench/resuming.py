"""P10: the live process, then Redis, killed while many follow: afterwards everybody has the file, no gap, nothing twice."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections.abc import Iterator
from typing import Any

from tests.bench.figures import Figure, quantile
from tests.bench.outputs import Output, stamped
from tests.bench.place import RESEARCHERS, Client, Place, until
from tests.bench.viewers import BINARY, Viewer

EVERY = 6.0  # seconds between the acts
# seconds between two tries to connect, and of a connection that was a good one: static/js/log-source.js
FIRST, SLOWEST, STEADY = 0.25, 30.0, 5.0


class Follower:
    """What a page does: follow from its own next byte, come back with jitter when the socket is lost, fetch what it missed."""

    def __init__(self, place: Place, output: Output, user: str) -> None:
        self.place, self.output, self.user = place, output, user
        self.bytes = bytearray()
        self.generation = ""
        self.wrong = ""
        self.holes: list[tuple[int, int]] = []
        self.came: list[float] = []  # when bytes came
        self._told: dict[str, Any] = {}

    async def follow(self) -> None:
        """Until cancelled."""
        path, cookie = f"/ws/jobs/{self.output.job}/log", self.place.session(self.user)
        failures = 0
        while True:
            viewer = Viewer(self.place.host, path, cookie, self._hear)
            try:
                await viewer.open()
                viewer.say(type="watch", stream="stdout", offset=len(self.bytes), generation=self.generation)
                opened = time.monotonic()
                await viewer.lost
                failures = 0 if time.monotonic() - opened > STEADY else failures
            except ConnectionError:
                pass
            except asyncio.CancelledError:
                viewer.close()
                raise
            failures += 1
            await asyncio.sleep(min(SLOWEST, FIRST * 1.5**failures) * random.uniform(0.5, 1.5))

    def _hear(self, kind: int, payload: bytes) -> None:
        if kind != BINARY:
            self._told = json.loads(payload)
            self.generation = self._told.get("generation") or self.generation
            if self._told["type"] == "skipped":
                self.holes.append((self._told["from"], self._told["to"]))
                self.bytes += bytes(self._told["to"] - len(self.bytes))
            return
        if self._told.get("offset") != len(self.bytes):
            self.wrong = self.wrong or f"at {len(self.bytes)} came {self._told}"
        self.came.append(time.monotonic())
        self.bytes += payload

    def is_whole(self) -> bool:
        """Whether it has the file, once what it was told it missed is fetched by range."""
        caller = self.place.api(self.user)
        for start, stop in self.holes:
            answer = caller.get(f"/api/v1/jobs/{self.output.job}/log?offset={start}&limit={stop - start}")
            self.bytes[start:stop] = answer.body
        return not self.wrong and bytes(self.bytes) == self.output.path.read_bytes()


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """Both are killed in one run."""
    count = 20 if small else 200
    with stamped(place, 0.1, words=20) as output:
        followers, killed, start = asyncio.run(drama(place, output, count))
        whole = sum(follower.is_whole() for follower in followers)
    after = [min((at for at in one.came if at > killed), default=float("inf")) - killed for one in followers]
    back = max(0.0, quantile(after, 0.99))
    yield Figure(
        "P10", f"{count} viewers, live and then Redis killed: those who have the file, byte for byte", f"{whole}",
        f"{len(output.path.read_bytes()) / 1000:.0f} kB, {sum(len(one.holes) for one in followers)} told gaps",
        goal="all", good=whole == count, must=True,
    )  # fmt: skip
    yield Figure(
        "P10", "from the kill of live to the next byte, p50 / p99", f"{quantile(after, 0.5):.1f} / {back:.1f} s",
        f"live itself answers again after {start:.1f} s", f"+{back - start:.1f} s",
        "p99 ≤ 3 s and the process's own start", back <= 3 + start,
    )  # fmt: skip


async def drama(place: Place, output: Output, count: int) -> tuple[list[Follower], float, float]:
    """Follow, kill live, go on, kill Redis, start it, go on, end the job; all have had time to catch up then."""
    people = itertools.cycle(RESEARCHERS)
    followers = [Follower(place, output, next(people)) for _ in range(count)]
    tasks = [asyncio.create_task(one.follow()) for one in followers]
    await asyncio.sleep(EVERY)
    killed = time.monotonic()
    place.kill("live")
    start = await asyncio.to_thread(answers_again, place) - killed
    await asyncio.sleep(2 * EVERY - start)
    place.kill("redis-hints")
    await asyncio.sleep(EVERY / 2)
    await asyncio.to_thread(place.stack, "start", "redis-hints")
    await asyncio.sleep(EVERY)
    await asyncio.to_thread(output.end)
    await asyncio.to_thread(_caught_up, output, followers)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return followers, killed, start


def answers_again(place: Place) -> float:
    """When the live process has said, on its own socket, that it is there."""

    def asked() -> bool:
        try:
            return Client(f"unix:{place.inside}/run/live/live.sock").get("/healthz").status == 200
        except OSError:
            return False

    until(asked, seconds=30, what="live is back", every=0.02)
    return time.monotonic()


def _caught_up(output: Output, followers: list[Follower]) -> None:
    size = output.path.stat().st_size
    try:
        until(lambda: all(len(one.bytes) >= size for one in followers), seconds=20, what="all have caught up")
    except SystemExit:
        return  # the figure will say who has not
