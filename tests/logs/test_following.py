"""Following a log while it is written: soon, gathered, complete, from anywhere, and left again."""

from __future__ import annotations

import asyncio
import hashlib
import random
import time

import pytest

from logs.client import AsyncReader, BadTicket, ReaderDown
from tests.logs.follower import Follower
from tests.logs.house import House


async def test_a_follower_gets_what_is_there_and_each_line_soon_after_it_is_written(
    house: House, reader: AsyncReader
) -> None:
    house.write("live", b"there\n")
    follower = Follower(reader, house.ticket("live"))
    await follower.until(lambda seen: seen.data == b"there\n")
    delays = []
    for number in range(20):
        started = time.monotonic()
        house.write("live", b"line %d\n" % number, append=True)
        await follower.until(lambda seen, end=b"line %d\n" % number: seen.data.endswith(end))
        delays.append(time.monotonic() - started)
        await asyncio.sleep(0.06)
    assert sorted(delays)[10] < 0.3, delays
    assert follower.chunks[-1].size == len(follower.data) and follower.chunks[-1].age < 1
    await follower.close()


async def test_a_follower_may_begin_anywhere(house: House, reader: AsyncReader) -> None:
    house.write("middle", b"0123456789")
    for offset, data in ((4, b"456789"), (-3, b"789"), (10, b""), (-100, b"0123456789")):
        follower = Follower(reader, house.ticket("middle"), offset)
        await follower.until(lambda seen, data=data: seen.data == data and seen.states == ["open"])
        assert follower.start == 10 - len(data)
        await follower.close()


async def test_many_small_writes_are_gathered_and_none_is_lost(house: House, reader: AsyncReader) -> None:
    house.write("small", b"")
    follower = Follower(reader, house.ticket("small"))
    await follower.until(lambda seen: seen.states)
    written, began = b"", time.monotonic()
    for number in range(400):
        line = b"%d\n" % number
        house.write("small", line, append=True)
        written += line
        await asyncio.sleep(0.002)
    await follower.until(lambda seen: seen.data == written)
    # a chunk is 50 ms of writing, however long 400 writes take here
    assert len(follower.chunks) < max(60, 30 * (time.monotonic() - began))
    await follower.close()


async def test_a_fast_writer_is_followed_byte_for_byte(house: House, reader: AsyncReader) -> None:
    path = house.write("fast", b"")
    block, digest = random.Random(1).randbytes(300_000), hashlib.sha256()
    follower = Follower(reader, house.ticket("fast"))
    await follower.until(lambda seen: seen.states)
    with path.open("ab", buffering=0) as file:
        for _ in range(60):
            file.write(block)
            digest.update(block)
            await asyncio.sleep(0)
    await follower.until(lambda seen: len(seen.data) == 60 * len(block), 30)
    assert hashlib.sha256(follower.data).digest() == digest.digest()
    await follower.close()


async def test_a_follower_that_comes_back_goes_on_where_it_was(house: House, reader: AsyncReader) -> None:
    house.write("resume", b"one\n")
    first = Follower(reader, house.ticket("resume"))
    await first.until(lambda seen: seen.data == b"one\n")
    await first.close()
    house.write("resume", b"two\n", append=True)
    known = first.chunks[-1].generation
    second = Follower(reader, house.ticket("resume"), 4, generation=known)
    await second.until(lambda seen: seen.data == b"two\n" and not seen.generations)
    await second.close()


async def test_a_file_swapped_for_a_link_is_read_no_further(house: House, reader: AsyncReader) -> None:
    house.write("swapped", b"mine\n")
    follower = Follower(reader, house.ticket("swapped"))
    await follower.until(lambda seen: seen.data == b"mine\n")
    (house.output / "swapped").unlink()
    (house.output / "swapped").symlink_to("/etc/passwd")
    await follower.until(lambda seen: seen.states[-1] == "not-regular")
    assert follower.data == b"mine\n"
    await follower.close()


async def test_hanging_up_ends_the_watching(house: House, reader: AsyncReader) -> None:
    house.write("left", b"x")
    followers = [Follower(reader, house.ticket("left")) for _ in range(5)]
    for follower in followers:
        await follower.until(lambda seen: seen.data == b"x")
    assert house.reader.status()["waiting"] == 5
    for follower in followers:
        await follower.close()
    for _ in range(100):
        if not house.reader.status()["waiting"]:
            break
        await asyncio.sleep(0.05)
    assert house.reader.status()["waiting"] == house.reader.status()["watched"] == 0


async def test_a_follower_is_told_when_its_ticket_ends_and_when_the_reader_does(
    house: House, reader: AsyncReader
) -> None:
    house.write("ends", b"x")
    short = Follower(reader, house.ticket("ends", not_after=int(time.time()) + 3))
    await short.until(lambda seen: seen.data == b"x")
    with pytest.raises(BadTicket):
        await short.until(lambda seen: False, 10)
    lasting = Follower(reader, house.ticket("ends"))
    await lasting.until(lambda seen: seen.data == b"x")
    await asyncio.to_thread(house.stop, "reader")
    try:
        with pytest.raises(ReaderDown):
            await lasting.until(lambda seen: False, 5)
    finally:
        house.start("reader")


async def test_a_slow_follower_neither_grows_the_reader_nor_slows_another(house: House, reader: AsyncReader) -> None:
    path = house.write("slow", b"x" * 1000)
    slow = reader.follow(house.ticket("slow"), "stdout", 0)
    await anext(slow)  # and then reads no more
    before = house.memory()
    fast = Follower(reader, house.ticket("slow"))
    with path.open("ab") as file:
        for _ in range(40):
            file.write(b"y" * 1_000_000)
            file.flush()
            await asyncio.sleep(0.001)
    await fast.until(lambda seen: len(seen.data) == 40_001_000, 60)
    assert house.memory() - before < 16_000
    await fast.close()
    await slow.aclose()
