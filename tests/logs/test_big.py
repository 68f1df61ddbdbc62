"""Files of any size and shape in constant memory: 5 GB, one endless line, a download to the last byte."""

from __future__ import annotations

import hashlib
import random
import time
from pathlib import Path

import pytest

from logs.client import NotReadable, Reader, ReaderDown
from tests.clock import within
from tests.logs.house import House

GIB = 1 << 30
FLAT = 16_000  # kilobytes the reader may grow


@pytest.fixture(scope="module")
def huge(house: House) -> str:
    """A ticket for 5 GB of NUL bytes with text at three places: holes on the disk, bytes like any other to readers."""
    path = house.write("huge", b"begin\n")
    with path.open("r+b") as file:
        file.seek(3 * GIB)
        file.write(b"\nmiddle\n")
        file.seek(5 * GIB - 4)
        file.write(b"end\n")
    return house.ticket("huge")


def test_the_ends_of_a_huge_log_are_there_at_once(house: House, huge: str) -> None:
    def look() -> None:
        assert house.reader.tail(huge, "stdout", 4).data == b"end\n"
        assert house.reader.read(huge, "stdout", 0, 6).data == b"begin\n"
        assert house.reader.read(huge, "stdout", 3 * GIB, 8).data == b"\nmiddle\n"
        assert house.reader.read(huge, "stdout", 5 * GIB, 100).data == b""

    within(1, look)


def test_fifty_viewers_of_a_huge_log_leave_memory_as_it_is(house: House, huge: str) -> None:
    before = house.memory()
    for viewer in range(50):
        chunk = house.reader.read(huge, "stdout", viewer * 100_000_000, 1_000_000)
        assert len(chunk.data) == 1_000_000 and chunk.size == 5 * GIB
    assert house.memory() - before < FLAT


def test_a_search_of_a_huge_log_answers_in_time_and_goes_on_where_it_stopped(house: House, huge: str) -> None:
    before, after = house.memory(), 0
    for _ in range(2):
        started = time.monotonic()
        found = house.reader.find(huge, "stdout", b"no such text", after=after)
        assert time.monotonic() - started < 30 and (found.complete or found.next > after), "three seconds and much load"
        after = found.next
    reached = within(2, lambda: house.reader.line_at(huge, "stdout", after))  # what was searched is counted too
    assert reached.line == (2 if after < 3 * GIB else 4)
    assert house.memory() - before < FLAT


def test_a_huge_log_downloads_in_constant_memory(house: House, huge: str) -> None:
    before, reader = house.memory(), Reader(house.reader_socket, timeout=30)
    with reader.stream_download(huge, "stdout", offset=5 * GIB - 300_000_000) as (chunk, pieces):
        assert chunk.size == 5 * GIB
        count, last = 0, b""
        for piece in pieces:
            count, last = count + len(piece), piece
    assert count == 300_000_000 and last.endswith(b"end\n")
    assert house.memory() - before < FLAT
    reader.close()


def test_a_download_is_the_file(house: House) -> None:
    data = random.Random(3).randbytes(20_000_000)
    house.write("whole", data)
    with house.reader.stream_download(house.ticket("whole"), "stdout") as (chunk, pieces):
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
    assert chunk.size == len(data) and digest.digest() == hashlib.sha256(data).digest()


def test_a_download_of_a_growing_file_ends_where_it_was_when_it_began(house: House) -> None:
    house.write("growing", b"a" * 3_000_000)
    with house.reader.stream_download(house.ticket("growing"), "stdout") as (_, pieces):
        house.write("growing", b"b" * 100, append=True)
        assert set(b"".join(pieces)) == {ord("a")}


def test_a_download_of_a_file_rewritten_under_way_breaks_off(house: House) -> None:
    house.write("rewritten", b"a" * 30_000_000)
    with (
        pytest.raises(ReaderDown),
        house.reader.stream_download(house.ticket("rewritten"), "stdout") as (_, pieces),
    ):
        next(pieces)
        house.write("rewritten", b"b" * 40_000_000)
        assert b"b" not in b"".join(pieces)


def test_there_is_nothing_to_download_where_there_is_no_file(house: House) -> None:
    with pytest.raises(NotReadable) as error, house.reader.stream_download(house.ticket("no"), "stdout"):
        pass
    assert error.value.state == "missing"


def test_one_endless_line_is_bytes_like_any_other(house: House) -> None:
    path = house.write("endless", b"")
    with path.open("wb") as file:
        for _ in range(20):
            file.write(b"a" * 10_000_000)
        file.write(b"needle")
    before, ticket = house.memory(), house.ticket("endless")
    assert house.reader.tail(ticket, "stdout", 8).data == b"aaneedle"
    assert house.reader.line(ticket, "stdout", 2).line == 1
    found = house.reader.find(ticket, "stdout", "needle")
    while not found.matches and not found.complete:
        found = house.reader.find(ticket, "stdout", "needle", after=found.next)
    assert found.matches == ((1, 200_000_000),)
    assert house.memory() - before < FLAT
    path.unlink()


def test_a_log_of_carriage_returns_only_is_one_line(house: House) -> None:
    bar = b"".join(b"\r%3d%%|%s|" % (n, b"#" * (n // 4)) for n in range(100)) * 50
    house.write("bar", bar)
    assert house.reader.read(house.ticket("bar"), "stdout", 0, len(bar)).data == bar
    assert house.reader.line_at(house.ticket("bar"), "stdout", len(bar)).line == 1


def test_the_disk_holds_no_descriptor_of_a_file_that_is_gone_for_long(house: House) -> None:
    path = house.write("deleted", b"x" * 1000)
    ticket = house.ticket("deleted")
    assert house.reader.read(ticket, "stdout", 0, 1).data == b"x"
    path.unlink()
    time.sleep(0.6)
    assert house.reader.read(ticket, "stdout", 0, 1).state == "gone"
    time.sleep(0.2)
    descriptors = Path(f"/proc/{house.processes['reader'].pid}/fd").iterdir()
    assert not [link for link in descriptors if "/deleted" in str(link.readlink())]
