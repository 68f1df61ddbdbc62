"""Numbers of the log reader beside `tail -f`: `python -m tests.logs.bench` (root, about a minute, an idle machine)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import uvloop

from jobs.hub import Event, Hubs, Skipped
from logs.client import Chunk
from tests.logs.house import House, running

LINE = b"x" * 119 + b"\n"
GIB = 1 << 30


def main() -> None:
    """Run all and print a line for each."""
    with running() as house:
        for gap in (0.1, 0.05):
            print(f"one line every {gap * 1000:.0f} ms, write to read, p50 / p99 ms:")
            print("  tail -f             ", quantiles(tail_latency(house, gap)))
            print("  /follow             ", quantiles(uvloop.run(latency(house, gap, following))))
            print("  hub, 1 viewer       ", quantiles(uvloop.run(latency(house, gap, watching(1)))))
            print("  hub, 100 viewers    ", quantiles(uvloop.run(latency(house, gap, watching(100)))))
        before = house.memory()
        print(
            f"200 MB while written: {uvloop.run(throughput(house, following)):.0f} MB/s by /follow, "
            f"{uvloop.run(throughput(house, watching(1))):.0f} MB/s by the hub; "
            f"tail -f {tail_throughput(house):.0f} MB/s"
        )
        print(f"200 MB already written, downloaded: {download(house, 'bulk'):.0f} MB/s")
        huge = house.write("huge", b"begin\n")
        os.truncate(huge, 5 * GIB)
        print(
            f"5 GiB downloaded: {download(house, 'huge'):.0f} MB/s, "
            f"reader {before // 1000} -> {house.memory() // 1000} MB resident"
        )


Stream = Callable[[House, str], AsyncIterator[bytes]]


async def following(house: House, name: str) -> AsyncIterator[bytes]:
    """Bytes by the asynchronous client, none for what is no data."""
    client = house.asynchronous()
    async for event in client.follow(house.ticket(name), "stdout", 0):
        yield event.data if isinstance(event, Chunk) else b""


def watching(viewers: int) -> Stream:
    """Bytes of the last of so many viewers of one hub."""

    async def stream(house: House, name: str) -> AsyncIterator[bytes]:
        hubs: Hubs[Event] = Hubs(house.asynchronous(), lambda event: event)
        ticket = house.ticket(name)

        async def tickets() -> str:
            return ticket

        async def idle() -> None:
            async with hubs.watch("job", "stdout", tickets) as events:
                async for _ in events:
                    pass

        others = [asyncio.create_task(idle()) for _ in range(viewers - 1)]
        await asyncio.sleep(0.2)
        async with hubs.watch("job", "stdout", tickets, offset=0) as events:
            async for event in events:
                if isinstance(event, Skipped):
                    raise SystemExit(f"the hub skipped {event}: this machine is too busy to measure on")
                yield event.data if isinstance(event, Chunk) else b""
        del others

    return stream


async def latency(house: House, gap: float, stream: Stream) -> list[float]:
    """Milliseconds from each write to the line in the reader's hand."""
    path, seen, buffer = house.write("latency", b""), list[float](), b""
    writer = None
    async for data in stream(house, "latency"):
        now = time.monotonic_ns()
        if writer is None:
            writer = asyncio.create_task(asyncio.to_thread(write_lines, path, gap))
        buffer += data
        *lines, buffer = buffer.split(b"\n")
        seen += [(now - int(line[:20])) / 1e6 for line in lines]
        if len(seen) == lines_of(gap):
            break
    return seen


def lines_of(gap: float) -> int:
    """Lines in about six seconds."""
    return int(6 / gap)


def write_lines(path: Path, gap: float) -> None:
    """Lines that say when they were written."""
    time.sleep(0.5)
    with path.open("ab", buffering=0) as file:
        for _ in range(lines_of(gap)):
            file.write(b"%020d step\n" % time.monotonic_ns())
            time.sleep(gap)


def tail_latency(house: House, gap: float) -> list[float]:
    """The same by `tail -f`."""
    path, seen = house.write("tail", b""), list[float]()
    with subprocess.Popen(["tail", "-n", "0", "-f", path], stdout=subprocess.PIPE, bufsize=0) as tail:
        threading.Thread(target=write_lines, args=(path, gap)).start()
        for line in tail.stdout:
            seen.append((time.monotonic_ns() - int(line[:20])) / 1e6)
            if len(seen) == lines_of(gap):
                break
        tail.kill()
    return seen


def quantiles(values: list[float]) -> str:
    """Median and 99th of a hundred."""
    ordered = sorted(values)
    return f"{ordered[len(ordered) // 2]:6.2f} / {ordered[int(len(ordered) * 0.99)]:6.2f}"


def write_bulk(path: Path) -> None:
    """200 MB as fast as it goes, by a process of its own."""
    code = f"import sys; [sys.stdout.buffer.write({LINE!r} * 8192) for _ in range({BLOCKS})]"
    with path.open("ab", buffering=0) as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)


BLOCKS = 200_000_000 // (len(LINE) * 8192) + 1
BULK = len(LINE) * 8192 * BLOCKS + len(LINE)


async def throughput(house: House, stream: Stream) -> float:
    """MB/s while the file is written flat out."""
    path, count, started = house.write("bulk", LINE), 0, 0.0
    async for data in stream(house, "bulk"):
        if not started:
            started = time.monotonic()
            threading.Thread(target=write_bulk, args=(path,)).start()
        count += len(data)
        if count >= BULK:
            break
    return count / 1e6 / (time.monotonic() - started)


def tail_throughput(house: House) -> float:
    """The same by `tail -f` through a pipe."""
    path, count = house.write("bulk", LINE), 0
    with subprocess.Popen(["tail", "-c", "+1", "-f", path], stdout=subprocess.PIPE, bufsize=0) as tail:
        started = time.monotonic()
        threading.Thread(target=write_bulk, args=(path,)).start()
        while count < BULK:
            count += len(tail.stdout.read(1 << 20))
        tail.kill()
    return count / 1e6 / (time.monotonic() - started)


def download(house: House, name: str) -> float:
    """MB/s of a whole file."""
    started, count = time.monotonic(), 0
    with house.reader.stream_download(house.ticket(name), "stdout") as (_, pieces):
        for piece in pieces:
            count += len(piece)
    return count / 1e6 / (time.monotonic() - started)


if __name__ == "__main__":
    main()
