"""P8: from a job's write to the viewer's socket, for 1, 100 and (--large) 1,000 viewers, beside `tail -f` and a bare ASGI hub."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import threading
import time
from collections.abc import Iterator

from tests.bench import hub
from tests.bench.figures import Figure, pair, quantile
from tests.bench.outputs import Output, stamped
from tests.bench.place import RESEARCHERS, Place
from tests.bench.viewers import BINARY, Viewer, opened

GAPS = {1: 0.1, 100: 0.1, 1000: 0.5}  # seconds between two lines: a training that prints its steps
SETTLE = 2.0  # seconds after the last viewer came, before anything counts


class Stamps:
    """Reads stamped lines out of pieces: milliseconds from each line's write to now, once `counting`."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self.counting = False
        self._rest = b""

    def take(self, data: bytes) -> None:
        now = time.monotonic_ns()
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if self.counting and line[:20].isdigit() and len(line) >= 25:
                self.late.append((now - int(line[:20])) / 1e6)


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """For each number of viewers: the hub, the portal beside `tail -f`, the hub again."""
    counts = [1, 10] if small else [1, 100, 1000] if large else [1, 100]
    seconds = 4 if small else 15
    for count in counts:
        gap = GAPS.get(count, 0.1)
        with stamped(place, gap) as output, hub.serving(place) as bare:
            before = asyncio.run(by_the_hub(place, bare, count, gap, seconds / 2))
            ours, tail = asyncio.run(by_the_portal(place, output, count, seconds))
            after = asyncio.run(by_the_hub(place, bare, count, gap, seconds / 2))
        yield figure(count, ours, before + after, tail)


def figure(count: int, ours: list[float], bare: list[float], tail: list[float]) -> Figure:
    limit = 3 * quantile(bare, 0.99) + 50
    return Figure(
        "P8",
        f"write to socket, {count} viewer{'s' * (count > 1)}, p50 / p99",
        pair(ours),
        f"bare hub {pair(bare)}, `tail -f` {pair(tail)}",
        f"{quantile(ours, 0.99) / quantile(bare, 0.99):.1f}",
        f"p99 ≤ 3 × the hub + 50 = {limit:.0f} ms",
        quantile(ours, 0.99) <= limit,
    )


async def by_the_portal(place: Place, output: Output, count: int, seconds: float) -> tuple[list[float], list[float]]:
    """All viewers' latencies through the door, and `tail -f`'s of the same file meanwhile."""
    stamps = [Stamps() for _ in range(count)]
    viewers = following(place, output.job, stamps)
    await opened(viewers)
    for viewer in viewers:
        viewer.say(type="watch", stream="stdout", offset=0)
    await asyncio.sleep(SETTLE)
    tail = asyncio.create_task(asyncio.to_thread(by_tail, output, seconds))
    await counted(stamps, seconds)
    for viewer in viewers:
        viewer.close()
    missing = sum(not one.late for one in stamps)
    if missing:
        raise SystemExit(f"{missing} of {count} viewers heard nothing")
    return list(itertools.chain.from_iterable(one.late for one in stamps)), await tail


def following(place: Place, job: str, stamps: list[Stamps]) -> list[Viewer]:
    """One socket for each, shared out among the project's people."""
    people = itertools.cycle(place.session(user) for user in RESEARCHERS)
    path = f"/ws/jobs/{job}/log"
    return [
        Viewer(place.host, path, next(people), lambda kind, data, one=one: one.take(data) if kind == BINARY else None)
        for one in stamps
    ]


async def counted(stamps: list[Stamps], seconds: float) -> None:
    for one in stamps:
        one.counting = True
    await asyncio.sleep(seconds)
    for one in stamps:
        one.counting = False


async def by_the_hub(place: Place, bare: str, count: int, gap: float, seconds: float) -> list[float]:
    """The same rate of the same lines, published to so many viewers of the bare hub."""
    stamps = [Stamps() for _ in range(count)]
    viewers = [Viewer("hub", "/", "", lambda _kind, data, one=one: one.take(data)) for one in stamps]
    await opened(viewers, unix=bare)
    async with hub.publisher(place) as publisher:
        await publisher.publish(hub.CHANNEL, b"begin\n")
        await asyncio.sleep(0.5)
        for one in stamps:
            one.counting = True
        for _ in range(max(5, int(seconds / gap))):
            await publisher.publish(hub.CHANNEL, b"%020d step" % time.monotonic_ns() + b" loss 0.1234" * 8 + b"\n")
            await asyncio.sleep(gap)
        await asyncio.sleep(0.5)
    for viewer in viewers:
        viewer.close()
    return list(itertools.chain.from_iterable(one.late for one in stamps))


def by_tail(output: Output, seconds: float) -> list[float]:
    """`tail -f` of the same file on the same machine."""
    stamps = Stamps()
    stamps.counting = True
    with subprocess.Popen(["tail", "-n", "0", "-f", output.path], stdout=subprocess.PIPE, bufsize=0) as tail:
        timer = threading.Timer(seconds, tail.kill)
        timer.start()
        assert tail.stdout
        while piece := tail.stdout.read(65536):
            stamps.take(piece)
        timer.cancel()
    return stamps.late
