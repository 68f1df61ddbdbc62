"""Reading bytes by offset: ranges, tails, waiting, states."""

from __future__ import annotations

from tests.logs.house import House


def test_read_gives_the_bytes_asked_for_and_what_is_known_of_the_file(house: House) -> None:
    house.write("read", b"0123456789")
    chunk = house.reader.read(house.ticket("read"), "stdout", 3, 4)
    assert (chunk.data, chunk.offset, chunk.size, chunk.state) == (b"3456", 3, 10, "open")
    assert 0 <= chunk.age < 60
