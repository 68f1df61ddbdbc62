"""A file system that hangs costs its own readers a word and nobody else anything (F-13)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from logs.client import Reader, ReaderDown
from tests.clock import within
from tests.logs.conftest import needs_root
from tests.logs.fuse import GETATTR, LOOKUP, READ, FrozenFiles, frozen_files
from tests.logs.house import OWNER, House, running, wait_until

DEADLINE = 1.0
"""Seconds the opener waits for a file system in these tests."""


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[House, FrozenFiles]]:
    """A house with a short deadline and a file system that can be frozen."""
    needs_root()
    with running(deadline=DEADLINE) as house:
        house.write("healthy", b"well\n")
        try:
            with frozen_files(house.folder / "frozen", OWNER) as files:
                yield house, files
        except OSError as error:
            pytest.skip(f"the kernel gives no FUSE mount: {error}")


@pytest.fixture
def frozen(place: tuple[House, FrozenFiles]) -> Iterator[tuple[House, FrozenFiles, str]]:
    """The house, the files (thawed at the end) and a ticket for the one on them."""
    house, files = place
    yield house, files, house.ticket(house.folder / "frozen" / "log")
    files.thaw()
    wait_until(lambda: not house.reader.status()["stalled"])


def read(house: House, ticket: str, **options: int) -> tuple[str, bytes]:
    """State and data; that there is an answer at all says that the reader did not wait for the file."""
    chunk = house.reader.read(ticket, "stdout", 0, 100, **options)
    return chunk.state, chunk.data


def test_a_read_that_hangs_is_failed_and_others_do_not_notice(frozen: tuple[House, FrozenFiles, str]) -> None:
    house, files, ticket = frozen
    assert read(house, ticket) == ("open", b"before\n")
    files.freeze = frozenset({READ})
    assert read(house, ticket) == ("failed", b"")
    assert within(DEADLINE, lambda: read(house, ticket)) == ("failed", b"")  # whoever asks again is told at once
    assert house.reader.status()["stalled"] == 1
    assert within(DEADLINE, lambda: read(house, house.ticket("healthy"))) == ("open", b"well\n")
    files.thaw()
    wait_until(lambda: read(house, ticket) == ("open", b"before\n"))


def test_a_path_that_hangs_is_failed_within_the_openers_deadline(frozen: tuple[House, FrozenFiles, str]) -> None:
    house, files, _ = frozen
    files.freeze = frozenset({LOOKUP})
    fresh = house.ticket(house.folder / "frozen" / "log", job_id=11)
    assert read(house, fresh)[0] == "failed"
    assert within(DEADLINE, lambda: read(house, house.ticket("healthy", job_id=11))) == ("open", b"well\n")
    files.thaw()
    wait_until(lambda: read(house, fresh) == ("open", b"before\n"))


def test_a_descriptor_gone_stale_is_replaced_by_a_fresh_one(frozen: tuple[House, FrozenFiles, str]) -> None:
    """As after a file server's restart: the same file, the same inode, and ESTALE on all that was open."""
    house, files, ticket = frozen
    before = house.reader.read(ticket, "stdout", 0, 100)
    files.stale = files.handles
    assert read(house, ticket)[0] == "failed"
    time.sleep(0.6)
    after = house.reader.read(ticket, "stdout", 0, 100)
    assert (after.data, after.generation) == (before.data, before.generation)


async def test_the_poller_leaves_a_hanging_file_behind_and_takes_it_back(
    frozen: tuple[House, FrozenFiles, str],
) -> None:
    house, files, ticket = frozen
    reader = house.asynchronous()
    hanging = reader.follow(ticket, "stdout", 0)
    healthy = reader.follow(house.ticket("healthy"), "stdout", 0)
    assert (await anext(hanging)).data == b"before\n"
    assert (await anext(healthy)).data == b"well\n"
    files.freeze = frozenset({GETATTR})
    await asyncio.sleep(3.5)  # longer than the poller's patience
    house.write("healthy", b"still\n", append=True)
    assert (await asyncio.wait_for(anext(healthy), 10)).data == b"still\n"
    files.data += b"after\n"
    files.thaw()
    assert (await asyncio.wait_for(anext(hanging), 10)).data == b"after\n"
    for follower in (hanging, healthy):
        await follower.aclose()
    await reader.close()


def test_a_reader_that_must_end_leaves_its_place_to_the_next_though_a_thread_hangs() -> None:
    needs_root()
    with running(deadline=DEADLINE) as house:
        try:
            files = FrozenFiles(house._folder("frozen", 0, 0o711), OWNER)
        except OSError as error:
            pytest.skip(f"the kernel gives no FUSE mount: {error}")
        ticket = house.ticket(house.folder / "frozen" / "log")
        assert read(house, ticket)[1] == b"before\n"
        files.freeze = frozenset({READ})
        with pytest.raises(ReaderDown):
            Reader(house.reader_socket, timeout=0.3).read(ticket, "stdout", 0, 9)
        old = house.processes.pop("reader")
        old.terminate()
        wait_until(lambda: not house.reader_socket.exists())
        house.start("reader")
        assert read(house, house.ticket("absent"))[0] == "missing"
        files.thaw()
        files.close()
        assert old.wait(10) == 0
        old.stderr.close()
