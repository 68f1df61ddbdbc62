"""The hub over the real reader and opener: one pull, a reader killed under 200 viewers, a requeue."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from jobs.hub import Event, Hubs, Skipped
from logs.client import Chunk, Generation
from tests.logs.conftest import needs_root
from tests.logs.house import House, running


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    """Opener and reader, running."""
    needs_root()
    with running() as house:
        yield house


@pytest.fixture
async def hubs(house: House) -> AsyncIterator[Hubs[Event]]:
    """Hubs over the running reader."""
    source = house.asynchronous()
    yield Hubs(source, lambda event: event)
    await source.close()


class Watcher:
    """Keeps the bytes of one viewer and where the next one must begin."""

    def __init__(self, hubs: Hubs[Event], ticket: Callable[[], str], offset: int = 0) -> None:
        self.data, self.at, self.gaps, self.states, self.beginnings = b"", offset, 0, list[str](), 0
        self.task = asyncio.ensure_future(self._watch(hubs, ticket, offset))

    async def _watch(self, hubs: Hubs[Event], ticket: Callable[[], str], offset: int) -> None:
        async def tickets() -> str:
            return ticket()

        async with hubs.watch("job", "stdout", tickets, offset=offset) as events:
            async for event in events:
                self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, Generation):
            self.data, self.at, self.beginnings = b"", 0, self.beginnings + 1
        elif isinstance(event, Skipped):
            self.gaps, self.at = self.gaps + 1, event.stop
        elif isinstance(event, Chunk):
            self.states.append(event.state)
            assert event.state != "open" or event.offset == self.at
            self.data, self.at = self.data + event.data, self.at + len(event.data)

    async def until(self, what: Callable[[Watcher], bool], seconds: float = 20) -> None:
        """Wait until `what(self)`."""
        async with asyncio.timeout(seconds):
            while not what(self):
                if self.task.done():
                    self.task.result()
                await asyncio.sleep(0.01)

    async def close(self) -> None:
        """Leave."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def test_fifty_viewers_are_one_follower_to_the_reader(house: House, hubs: Hubs[Event]) -> None:
    house.write("crowd", b"hello\n")
    ticket = house.ticket("crowd")
    viewers = [Watcher(hubs, lambda: ticket, offset) for offset in [0, 3, 6] * 16 + [0, 0]]
    for viewer in viewers:
        await viewer.until(lambda seen: seen.at == 6 and bool(seen.states))
    assert house.reader.status()["waiting"] == 1
    house.write("crowd", b"world\n", append=True)
    for viewer in viewers:
        await viewer.until(lambda seen: seen.data.endswith(b"world\n"))
        await viewer.close()
    async with asyncio.timeout(5):
        while house.reader.status()["waiting"]:
            await asyncio.sleep(0.02)


async def test_a_reader_killed_under_two_hundred_viewers_loses_and_doubles_no_byte(
    house: House, hubs: Hubs[Event]
) -> None:
    """P10."""
    text = b"line 0\n"
    house.write("killed", text)
    ticket = house.ticket("killed")
    viewers = [Watcher(hubs, lambda: ticket) for _ in range(200)]
    for number in range(1, 60):
        line = b"line %d\n" % number
        house.write("killed", line, append=True)
        text += line
        if number in (20, 40):
            await asyncio.to_thread(house.stop, "reader", signal.SIGKILL)
            await asyncio.to_thread(house.start, "reader")
        await asyncio.sleep(0.01)
    for viewer in viewers:
        await viewer.until(lambda seen: seen.at == len(text))
        assert viewer.data == text and not viewer.gaps and not viewer.beginnings
        await viewer.close()


async def test_a_requeue_with_a_new_ticket_begins_anew_though_the_bytes_are_the_same(
    house: House, hubs: Hubs[Event]
) -> None:
    house.write("requeued", b"seed 1\n" * 100)
    tickets = [house.ticket("requeued")]
    viewer = Watcher(hubs, lambda: tickets[-1])
    await viewer.until(lambda seen: len(seen.data) == 700)
    house.write("requeued", b"seed 1\n" * 200)  # the same head and more of it: no look at the file could tell
    tickets.append(house.ticket("requeued", restart_count=1))
    hubs.renew("job")
    await viewer.until(lambda seen: seen.beginnings >= 1 and seen.data == b"seed 1\n" * 200)
    await viewer.close()


async def test_a_big_log_is_joined_at_any_byte_without_a_gap(house: House, hubs: Hubs[Event]) -> None:
    line = b"%07d " + b"x" * 111 + b"\n"
    text = b"".join(line % number for number in range(50_000))
    house.write("big", text)
    ticket = house.ticket("big")
    viewers = [Watcher(hubs, lambda: ticket, offset) for offset in (0, 1_000_000, len(text) - 10, len(text))]
    house.write("big", b"more\n", append=True)
    for viewer in viewers:
        begin = viewer.at - len(viewer.data)
        await viewer.until(lambda seen: seen.data.endswith(b"more\n"))
        assert viewer.data == (text + b"more\n")[begin:] and not viewer.gaps
        await viewer.close()
