"""P9: a job that writes flat out: MB/s to one viewer beside a bare hub, the memory it costs, and that the download is the file."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench import hub
from tests.bench.figures import Figure
from tests.bench.outputs import Output, flat_out
from tests.bench.place import RESEARCHERS, Place, family, megabytes
from tests.bench.viewers import BINARY, Viewer, opened

PIECE = 64 * 1024


class Tally:
    """Bytes a viewer got, bytes it was told it missed, and from when to when."""

    def __init__(self) -> None:
        self.bytes = self.skipped = 0
        self.first = self.last = 0.0
        self.counting = False

    def hear(self, kind: int, payload: bytes) -> None:
        if kind == BINARY and self.counting:
            self.last = time.monotonic()
            self.first = self.first or self.last
            self.bytes += len(payload)
        elif b'"skipped"' in payload:
            told = json.loads(payload)
            self.skipped += told["to"] - told["from"]

    @property
    def rate(self) -> float:
        return self.bytes / 1e6 / max(1e-9, self.last - self.first)


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """The hub's rate, then the portal's with a second viewer that does not read, then the download."""
    size = 20 if small else 200
    with hub.serving(place) as bare:
        floor = asyncio.run(by_the_hub(place, bare, size)).rate
    with flat_out(place, size) as (output, gate):
        tally, grown = asyncio.run(by_the_portal(place, output, gate))
        whole = output.path.stat().st_size
        yield Figure(
            "P9",
            f"{size} MB written flat out, to one viewer beside one that does not read",
            f"{tally.rate:.0f} MB/s, {tally.skipped / 1e6:.0f} MB told as skipped",
            f"bare hub {floor:.0f} MB/s",
            f"{tally.rate / floor:.2f}",
            "≥ 0.5, every byte sent or told",
            tally.rate >= 0.5 * floor and tally.bytes + tally.skipped >= whole - len("ready\n"),
        )
        yield Figure(
            "P9", "memory that live, reader and opener grow by meanwhile", f"{grown:.0f} MB", goal="≤ 32 MB",
            good=grown <= 32,
        )  # fmt: skip
        yield download(place, output)


async def by_the_portal(place: Place, output: Output, gate: Path) -> tuple[Tally, float]:
    """What the reading one of two viewers gets, and MB of memory at the most beyond what was there."""
    tally, stalled = Tally(), Tally()
    path, cookie = f"/ws/jobs/{output.job}/log", place.session(RESEARCHERS[0])
    viewers = [Viewer(place.host, path, cookie, one.hear) for one in (tally, stalled)]
    await opened(viewers)
    for viewer in viewers:
        viewer.say(type="watch", stream="stdout", offset=0)
    await asyncio.sleep(2)
    if viewers[1].transport:
        viewers[1].transport.pause_reading()
    processes = family(place.pid(name) for name in ("live", "reader", "opener"))
    before, peak = megabytes(processes, "Rss"), 0.0
    tally.counting = True
    gate.touch()
    quiet = time.monotonic() + 5
    while time.monotonic() < quiet:
        await asyncio.sleep(0.25)
        peak = max(peak, await asyncio.to_thread(megabytes, processes, "Rss"))
        if time.monotonic() - tally.last < 1:
            quiet = time.monotonic() + 3
    for viewer in viewers:
        viewer.close()
    return tally, peak - before


async def by_the_hub(place: Place, bare: str, size: int) -> Tally:
    """The same amount in pieces of 64 kB, published back to back."""
    tally = Tally()
    tally.counting = True
    viewer = Viewer("hub", "/", "", tally.hear)
    await opened([viewer], unix=bare)
    async with hub.publisher(place) as publisher:
        await publisher.publish(hub.CHANNEL, b"begin\n")
        await asyncio.sleep(0.5)
        tally.bytes, tally.first = 0, 0.0
        piece = b"x" * PIECE
        for _ in range(size * 1_000_000 // PIECE):
            await publisher.publish(hub.CHANNEL, piece)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(_still(tally), 10)
    viewer.close()
    return tally


async def _still(tally: Tally) -> None:
    """Until nothing came for half a second."""
    while time.monotonic() - tally.last < 0.5:
        await asyncio.sleep(0.1)


def download(place: Place, output: Output) -> Figure:
    """The whole output through the page's own link, against the file."""
    began = time.monotonic()
    answer = place.browser(RESEARCHERS[0]).get(f"/jobs/{output.job}/log/download?stream=stdout")
    taken = time.monotonic() - began
    same = hashlib.sha256(answer.body).digest() == hashlib.sha256(output.path.read_bytes()).digest()
    return Figure(
        "P9", f"download of {len(answer.body) / 1e6:.0f} MB", f"{len(answer.body) / 1e6 / taken:.0f} MB/s",
        "SHA-256 of the file: " + ("the same" if same else "another"), goal="the same", good=same, must=True,
    )  # fmt: skip
