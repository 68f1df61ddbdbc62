"""The hub over a log reader in memory: one pull for all, every byte once, and a word about each one missed."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from jobs import hub as hub_module
from jobs.hub import MEMORY
from logs.client import Chunk
from tests.jobs.live import Log, Watcher, new, settle


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
    for begin in range(8, len(text), 4000):
        log.write(text[begin : begin + 4000])
        await asyncio.sleep(0)
    await fast.until(lambda seen: seen.whole == text)
    assert not fast.skipped and slow.whole != text
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
    monkeypatch.setattr(hub_module, "MAX_BEHIND", 0.1)
    monkeypatch.setattr(hub_module, "MEMORY", 100_000)
    log = Log(b"begin", piece=10_000)
    hubs = new(log)
    viewer = Watcher(hubs, log, pause=0.01)
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


async def test_a_file_begun_anew_while_a_range_is_fetched_reaches_who_fetches(monkeypatch: pytest.MonkeyPatch) -> None:
    """And ends with it: no later byte tells the viewer that the one it fetches is gone."""
    monkeypatch.setattr(hub_module, "MEMORY", 3_000)
    log = Log(b"a" * 20_000, piece=1_000)
    hubs, whole = new(log), log.read

    async def read(*asked: Any, **more: Any) -> Chunk:
        if log.run == 0:
            log.rewrite(b"b" * 20_000)
            await asyncio.sleep(0.05)  # the hub has taken all of it, and keeps the last of it
        return await whole(*asked, **more)

    first = Watcher(hubs, log)
    await first.until(lambda seen: (seen._at or 0) >= 20_000)
    log.read = read  # type: ignore[method-assign]
    late = Watcher(hubs, log, 1)
    await late.until(lambda seen: seen.beginnings > 0 and (seen._at or 0) >= 20_000)
    assert log.run == 1 and all(set(row) == {ord("b")} for row in late.data.values())
    for watcher in (first, late):
        await watcher.close()
