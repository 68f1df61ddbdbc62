"""Following a file that is truncated, requeued, replaced, taken away and written again."""

from __future__ import annotations

import os

import pytest

from logs.client import AsyncReader
from tests.logs.follower import Follower
from tests.logs.house import House


async def test_a_truncated_file_is_a_new_generation_from_zero(house: House, reader: AsyncReader) -> None:
    house.write("cut", b"a long first run\n")
    follower = Follower(reader, house.ticket("cut"))
    await follower.until(lambda seen: seen.data == b"a long first run\n")
    house.write("cut", b"second\n")
    await follower.until(lambda seen: seen.generations >= 1 and seen.data == b"second\n")
    await follower.close()


@pytest.mark.parametrize("second", [b"second run, and longer than the first was\n", b"first run, but other\n"])
async def test_a_requeue_that_keeps_the_inode_and_grows_is_noticed(
    house: House, reader: AsyncReader, second: bytes
) -> None:
    """M11: same inode, larger size; nothing of the old run may stand before the new."""
    path = house.write("requeue", b"first run\n")
    inode = path.stat().st_ino
    follower = Follower(reader, house.ticket("requeue"))
    await follower.until(lambda seen: seen.data == b"first run\n")
    descriptor = os.open(path, os.O_WRONLY)
    os.pwrite(descriptor, second, 0)  # as if truncated and written again between two looks
    os.close(descriptor)
    assert path.stat().st_ino == inode
    await follower.until(lambda seen: seen.generations >= 1 and seen.data == second)
    await follower.close()


async def test_a_rewrite_with_the_same_first_4_kib_is_noticed_at_its_end(house: House, reader: AsyncReader) -> None:
    head = b"seed 1\n" * 2000
    path = house.write("deterministic", head + b"node a\n")
    follower = Follower(reader, house.ticket("deterministic"))
    await follower.until(lambda seen: seen.data.endswith(b"node a\n"))
    descriptor = os.open(path, os.O_WRONLY)
    os.pwrite(descriptor, head + b"node b\nand more\n", 0)
    os.close(descriptor)
    await follower.until(lambda seen: seen.generations == 1 and seen.data == head + b"node b\nand more\n")
    await follower.close()


async def test_a_new_restart_count_is_another_generation_though_the_bytes_are_the_same(
    house: House, reader: AsyncReader
) -> None:
    house.write("same", b"the same bytes\n")
    before = await reader.read(house.ticket("same"), "stdout", 0, 100)
    after = await reader.read(house.ticket("same", restart_count=1), "stdout", 4, 100, generation=before.generation)
    assert (after.data, after.offset) == (b"", 0) and after.generation != before.generation
    follower = Follower(reader, house.ticket("same", restart_count=1), 4, generation=before.generation)
    await follower.until(lambda seen: seen.generations == 1 and seen.data == b"the same bytes\n")
    await follower.close()


async def test_another_file_in_its_place_is_taken_up(house: House, reader: AsyncReader) -> None:
    house.write("replaced", b"old file\n")
    follower = Follower(reader, house.ticket("replaced"))
    await follower.until(lambda seen: seen.data == b"old file\n")
    house.write("replacement", b"new file\n").replace(house.output / "replaced")
    await follower.until(lambda seen: seen.generations >= 1 and seen.data == b"new file\n")
    await follower.close()


async def test_a_file_that_comes_goes_and_comes_again(house: House, reader: AsyncReader) -> None:
    follower = Follower(reader, house.ticket("phoenix"))
    await follower.until(lambda seen: seen.states == ["missing"])
    house.write("phoenix", b"born\n")
    await follower.until(lambda seen: seen.data == b"born\n")
    (house.output / "phoenix").unlink()
    await follower.until(lambda seen: seen.states[-1] == "gone")
    house.write("phoenix", b"reborn\n")
    await follower.until(lambda seen: seen.data == b"reborn\n" and seen.generations >= 1)
    await follower.close()
