"""The hub over a log reader in memory: one pull for all, every byte once, and a word about each one missed."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable

import pytest

from jobs import hub as hub_module
from jobs import viewing
from jobs.hub import MEMORY, Event, Hubs, Skipped
from logs.client import BadTicket, Chunk, Generation, ReaderDown
from logs.generations import same


class Log:
    """A log reader with one file in memory, that can be written, begun anew, taken away and broken."""

    def __init__(self, text: bytes = b"", *, piece: int = 1000) -> None:
        self.text, self.state, self.run, self.piece = text, "open", 0, piece
        self.down = self.refuses = False
        self.follows = self.reads = self.open_follows = 0
        self.tickets: list[str] = []
        self.ticket = "first"
        self._news = asyncio.Event()

    @property
    def generation(self) -> str:
        """Grows with the file, as the reader's names do."""
        return f"{self.run}.{'a' * min(8, len(self.text) // 100)}" if self.state == "open" else ""

    def write(self, more: bytes) -> None:
        """Append."""
        self.text += more
        self.tell()

    def rewrite(self, text: bytes) -> None:
        """Requeue."""
        self.run, self.text, self.state = self.run + 1, text, "open"
        self.tell()

    def tell(self, **changes: object) -> None:
        """Change something and wake the followers."""
        for name, value in changes.items():
            setattr(self, name, value)
        self._news.set()
        self._news = asyncio.Event()

    async def newest(self) -> str:
        """The job's ticket."""
        return self.ticket

    async def read(self, ticket: str, stream: str, offset: int, limit: int, *, generation: str = "") -> Chunk:
        """As AsyncReader.read."""
        await asyncio.sleep(0)
        self._check(ticket)
        self.reads += 1
        if not same(generation, self.generation):
            return self._chunk(0, b"")
        return self._chunk(offset, self.text[offset : offset + limit] if self.state == "open" else b"")

    async def follow(
        self, ticket: str, stream: str, offset: int, *, generation: str = ""
    ) -> AsyncGenerator[Chunk | Generation, None]:
        """As AsyncReader.follow."""
        self.follows, self.open_follows = self.follows + 1, self.open_follows + 1
        try:
            async for event in self._events(ticket, offset, generation):
                yield event
        finally:
            self.open_follows -= 1

    async def _events(self, ticket: str, offset: int, known: str) -> AsyncIterator[Chunk | Generation]:
        told = ""
        while True:
            news = self._news
            self._check(ticket)
            if self.state == "open" and known and not same(known, self.generation):
                offset, known = 0, self.generation
                yield Generation(known, len(self.text))
            if self.state == "open":
                offset = offset if offset >= 0 else max(0, len(self.text) + offset)
                data, known = self.text[offset : offset + self.piece], self.generation
            else:
                data = b""
            if data or self.state != told:
                told = self.state
                yield self._chunk(offset, data)
                offset += len(data)
                await asyncio.sleep(0)
            else:
                await news.wait()

    def _check(self, ticket: str) -> None:
        self.tickets.append(ticket)
        if self.down:
            raise ReaderDown("down")
        if self.refuses or ticket != self.ticket:
            raise BadTicket("no")

    def _chunk(self, offset: int, data: bytes) -> Chunk:
        size = len(self.text) if self.state == "open" else 0
        return Chunk(data, offset if self.state == "open" else 0, size, self.generation, self.state, 0.0)


class Watcher:
    """A viewer that keeps what it got and checks that nothing came twice and nothing was missed unsaid."""

    def __init__(self, hubs: Hubs[Event], log: Log, offset: int = 0, *, generation: str = "", pause: float = 0) -> None:
        self.events: list[Event] = []
        self.data: dict[int, bytes] = {}  # first offset of each unbroken row of bytes since the last beginning
        self.skipped: list[Skipped] = []
        self.beginnings, self.states, self.pause = 0, list[str](), pause
        self._at: int | None = None
        self.task = asyncio.ensure_future(self._watch(hubs, log, offset, generation))

    async def _watch(self, hubs: Hubs[Event], log: Log, offset: int, generation: str) -> None:
        async with hubs.watch("job", "stdout", log.newest, offset=offset, generation=generation) as events:
            async for event in events:
                self._take(event)
                await asyncio.sleep(self.pause)

    def _take(self, event: Event) -> None:
        self.events.append(event)
        match event:
            case Generation():
                self.data, self._at, self.beginnings = {}, 0, self.beginnings + 1
            case Skipped():
                assert self._at is None or event.start == self._at
                self.skipped.append(event)
                self._at = event.stop
            case Chunk(state="open"):
                if self._at is not None:
                    assert event.offset == self._at, f"at {self._at} came {event.offset}"
                self._at = event.offset + len(event.data)
                self._keep(event.offset, event.data)
                self.states.append("open")
            case Chunk():
                self.states.append(event.state)

    def _keep(self, offset: int, data: bytes) -> None:
        for start, row in self.data.items():
            if start + len(row) == offset:
                self.data[start] = row + data
                return
        if data:
            self.data[offset] = data

    @property
    def whole(self) -> bytes:
        """The bytes, where they came in one row."""
        return next(iter(self.data.values()), b"")

    async def until(self, what: Callable[[Watcher], bool], seconds: float = 5) -> None:
        """Wait until `what(self)`, or raise what the viewer met."""
        until = time.monotonic() + seconds
        while not what(self):
            if self.task.done():
                self.task.result()
            assert time.monotonic() < until, (self.states, self.skipped, self.beginnings, list(self.data))
            await asyncio.sleep(0.002)

    async def close(self) -> None:
        """Leave."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def new(log: Log) -> Hubs[Event]:
    """Hubs that hand events on as they are."""
    return Hubs(log, lambda event: event)


async def settle(what: Callable[[], bool]) -> None:
    """Wait for something short."""
    for _ in range(1000):
        if what():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("did not settle")


async def test_a_hundred_viewers_share_one_pull_and_get_the_same_objects() -> None:
    log = Log(b"begin\n")
    hubs = new(log)
    viewers = [Watcher(hubs, log) for _ in range(100)]
    for viewer in viewers:
        await viewer.until(lambda seen: seen.whole == b"begin\n")
    log.write(b"more\n")
    for viewer in viewers:
        await viewer.until(lambda seen: seen.whole == b"begin\nmore\n")
    assert (log.follows, log.open_follows, len(hubs)) == (1, 1, 1)
    assert len({id(viewer.events[-1]) for viewer in viewers}) == 1
    for viewer in viewers:
        await viewer.close()
    await settle(lambda: log.open_follows == 0)
    assert len(hubs) == 0


async def test_it_starts_with_the_first_viewer_and_again_after_the_last_has_left() -> None:
    log = Log(b"x")
    hubs = new(log)
    assert log.follows == 0
    for times in (1, 2):
        viewer = Watcher(hubs, log)
        await viewer.until(lambda seen: seen.whole == b"x")
        assert log.follows == times
        await viewer.close()
        await settle(lambda: log.open_follows == 0)


@pytest.mark.parametrize("size", [0, 10, 70_000, 3_000_000])
@pytest.mark.parametrize("offset", [0, 5, 69_990, -64, -65_536, -(10**9)])
async def test_who_joins_anywhere_sees_every_byte_from_there_on(size: int, offset: int) -> None:
    text = random.Random(size).randbytes(size)
    log = Log(text, piece=50_000)
    hubs = new(log)
    first = Watcher(hubs, log, -10)
    await first.until(lambda seen: seen.states)
    late = Watcher(hubs, log, offset)
    begin = offset if offset >= 0 else max(0, size + offset)
    if begin <= size:
        await late.until(lambda seen: seen.states and seen.whole == text[begin:], 20)
        assert late.events[0] == Chunk(b"", begin, size, log.generation, "open", 0.0)
    else:
        await late.until(lambda seen: seen.states)
    log.write(b"z" * 70_000)
    await late.until(lambda seen: seen.whole == (text + b"z" * 70_000)[begin:])
    assert not late.skipped and log.follows == 1
    await first.close()
    await late.close()


async def test_a_slow_viewer_is_told_what_it_missed_and_slows_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "MEMORY", 20_000)
    text = b"".join(b"%07d\n" % number for number in range(50_000))
    log = Log(text[:8], piece=1000)
    hubs = new(log)
    fast, slow = Watcher(hubs, log), Watcher(hubs, log, pause=0.05)
    await fast.until(lambda seen: seen.whole == text[:8])
    await slow.until(lambda seen: seen.whole == text[:8])
    started = time.monotonic()
    for begin in range(8, len(text), 4000):
        log.write(text[begin : begin + 4000])
        await asyncio.sleep(0)
    await fast.until(lambda seen: seen.whole == text)
    assert not fast.skipped and time.monotonic() - started < 3
    log.write(b"the end\n")
    await slow.until(lambda seen: b"".join(seen.data.values()).endswith(b"the end\n"))
    assert slow.skipped and len(slow.data) >= len(slow.skipped)
    for start, row in slow.data.items():
        assert (text + b"the end\n")[start : start + len(row)] == row
    await fast.close()
    await slow.close()


async def test_a_viewer_alone_sets_the_pace_and_the_hub_holds_no_more_than_it_may() -> None:
    log = Log(b"", piece=100_000)
    hubs = new(log)
    viewer = Watcher(hubs, log, pause=0.01)
    await viewer.until(lambda seen: seen.states)
    log.write(b"q" * 5_000_000)
    hub = next(iter(hubs._hubs.values()))
    while not viewer.whole.endswith(b"q" * 10) or len(viewer.whole) < 5_000_000:
        assert sum(len(item.chunk.data) for item in hub.items) <= MEMORY + 100_000
        await asyncio.sleep(0.01)
    assert not viewer.skipped
    await viewer.close()


async def test_a_file_that_runs_away_is_followed_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "MAX_LAG", 500_000)
    log = Log(b"begin", piece=10_000)
    hubs = new(log)
    viewer = Watcher(hubs, log)
    await viewer.until(lambda seen: seen.whole == b"begin")
    log.write(b"w" * 2_000_000 + b"end")
    await viewer.until(lambda seen: b"".join(seen.data.values()).endswith(b"end"))
    assert viewer.skipped and viewer.skipped[-1].stop >= 2_000_008 - hub_module.TAIL
    await viewer.close()


async def test_a_requeue_begins_anew_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(b"first run\n" * 20)
    hubs = new(log)
    viewers = [Watcher(hubs, log, offset) for offset in (0, 50, -10)]
    for viewer in viewers:
        await viewer.until(lambda seen: seen.states)
    log.rewrite(b"second run, longer than the first was\n" * 20)
    for viewer in viewers:
        await viewer.until(lambda seen: seen.whole == log.text and seen.beginnings == 1)
    log.rewrite(b"")
    for viewer in viewers:
        await viewer.until(lambda seen: seen.beginnings == 2 and not seen.data)
        await viewer.close()


async def test_who_comes_back_with_an_old_generation_begins_anew_and_with_the_same_goes_on() -> None:
    log = Log(b"0123456789" * 20)
    hubs = new(log)
    again = Watcher(hubs, log, 195, generation=log.generation[:3])
    await again.until(lambda seen: seen.whole == b"56789" and not seen.beginnings)
    old = log.generation
    log.rewrite(b"other")
    late = Watcher(hubs, log, 200, generation=old)
    await late.until(lambda seen: seen.whole == b"other" and seen.beginnings == 1)
    await again.close()
    await late.close()


async def test_a_file_that_is_not_there_yet_is_seen_from_its_first_byte() -> None:
    log = Log(b"")
    log.state = "missing"
    hubs = new(log)
    start, tail = Watcher(hubs, log, 0), Watcher(hubs, log, -100)
    await start.until(lambda seen: seen.states == ["missing"])
    await tail.until(lambda seen: seen.states == ["missing"])
    log.text = b"n" * 200_000
    log.tell(state="open")
    await start.until(lambda seen: seen.whole == log.text)
    await tail.until(lambda seen: seen.whole == b"n" * 100)
    assert not start.skipped and not tail.skipped
    log.tell(state="gone")
    await start.until(lambda seen: seen.states[-1] == "gone")
    late = Watcher(hubs, log, 0)
    await late.until(lambda seen: seen.states == ["gone"])
    for viewer in (start, tail, late):
        await viewer.close()


async def test_a_reader_that_is_away_is_told_once_and_missed_no_byte_of() -> None:
    log = Log(b"before\n")
    hubs = new(log)
    viewer = Watcher(hubs, log)
    await viewer.until(lambda seen: seen.whole == b"before\n")
    log.tell(down=True)
    await viewer.until(lambda seen: seen.states[-1] == "unavailable")
    log.text += b"meanwhile\n"
    late = Watcher(hubs, log, 3)
    await late.until(lambda seen: "unavailable" in seen.states)
    await asyncio.sleep(1)
    assert viewer.states.count("unavailable") == 1
    log.tell(down=False)
    await viewer.until(lambda seen: seen.whole == b"before\nmeanwhile\n")
    await late.until(lambda seen: seen.whole == b"ore\nmeanwhile\n")
    await viewer.close()
    await late.close()


async def test_a_ticket_that_counts_no_more_is_asked_for_again() -> None:
    log = Log(b"x")
    hubs = new(log)
    viewer = Watcher(hubs, log)
    await viewer.until(lambda seen: seen.whole == b"x")
    log.tell(refuses=True)
    await viewer.until(lambda seen: seen.states[-1] == "refused")
    log.tell(refuses=False, ticket="second")
    await viewer.until(lambda seen: seen.states[-1] == "open")
    log.ticket = "third"
    hubs.renew("another job")
    assert log.tickets[-1] == "second"
    hubs.renew("job")
    await settle(lambda: log.tickets[-1] == "third")
    log.write(b"y")
    await viewer.until(lambda seen: seen.whole == b"xy" and not seen.beginnings)
    await viewer.close()


async def test_tickets_that_fail_in_another_way_are_told_as_unavailable_and_asked_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Log(b"x")
    failing = [LookupError("the database is away")]

    async def tickets() -> str:
        if failing:
            raise failing.pop()
        return log.ticket

    log.newest = tickets
    viewer = Watcher(new(log), log)
    await viewer.until(lambda seen: seen.whole == b"x")
    assert viewer.states[0] == "unavailable" and "could not be pulled" in caplog.text
    await viewer.close()


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_happens_each_viewer_has_the_file_or_knows_what_it_lacks(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "MEMORY", 3_000)
    monkeypatch.setattr(hub_module, "TAIL", 500)
    monkeypatch.setattr(viewing, "PAUSE", 0.005)
    monkeypatch.setattr(hub_module, "FIRST_PAUSE", 0.005)
    monkeypatch.setattr(hub_module, "LONGEST_PAUSE", 0.01)
    rng = random.Random(seed)
    log = Log(rng.randbytes(2_000), piece=200)
    hubs, watchers = new(log), list[Watcher]()
    for _ in range(150):
        match rng.randrange(12):
            case 0:
                log.rewrite(rng.randbytes(rng.randrange(3_000)))
            case 1:
                log.tell(down=not log.down)
            case 2:
                log.tell(state=rng.choice(["open", "open", "gone"]))
            case 3 | 4:
                watchers.append(Watcher(hubs, log, rng.randrange(-3_000, 3_000), pause=rng.choice([0, 0, 0.003])))
            case 5 if watchers:
                await watchers.pop(rng.randrange(len(watchers))).close()
            case 6:
                hubs.renew("job")
            case _:
                log.write(rng.randbytes(rng.randrange(1_500)))
        await asyncio.sleep(rng.choice([0, 0, 0.001, 0.004]))
        for watcher in watchers:
            assert not watcher.task.done(), watcher.task.result()
    log.tell(down=False, state="open")
    log.write(b"the very end")
    for watcher in watchers:
        await watcher.until(lambda seen: _has_the_end(seen, log), 20)
        assert all(log.text[start : start + len(row)] == row for start, row in watcher.data.items())
        await watcher.close()
    await settle(lambda: log.open_follows == 0)


def _has_the_end(seen: Watcher, log: Log) -> bool:
    told = [event.generation for event in seen.events if isinstance(event, Chunk | Generation) and event.generation]
    return bool(told) and same(told[-1], log.generation) and (seen._at or 0) >= len(log.text)
