"""Reading bytes by offset: ranges, tails, waiting, odd contents, odd requests."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logs.client import BadTicket, Reader, ReaderDown
from tests.logs.house import House

ODD = bytes(range(256)) * 40 + b"\xff\xfe\0\0\x1b]0;title\x07\r50%\r100%\n" + "São João ✓".encode() + b"\xc3"


def test_read_gives_the_bytes_asked_for_and_what_is_known_of_the_file(house: House) -> None:
    house.write("read", b"0123456789")
    chunk = house.reader.read(house.ticket("read"), "stdout", 3, 4)
    assert (chunk.data, chunk.offset, chunk.size, chunk.state) == (b"3456", 3, 10, "open")
    assert 0 <= chunk.age < 60


def test_nul_and_other_bytes_that_are_no_text_come_as_they_are(house: House) -> None:
    house.write("odd", ODD)
    assert house.reader.read(house.ticket("odd"), "stdout", 0, len(ODD) + 1).data == ODD


@given(st.integers(-12_000, 12_000), st.integers(0, 12_000))
@settings(max_examples=150)
def test_any_range_is_that_of_the_file(house: House, offset: int, limit: int) -> None:
    if not (house.output / "odd").exists():
        house.write("odd", ODD)
    chunk = house.reader.read(house.ticket("odd", not_after=2**39), "stdout", offset, limit)
    begin = offset if offset >= 0 else max(0, len(ODD) + offset)
    assert (chunk.data, chunk.offset, chunk.size) == (ODD[begin : begin + limit], begin, len(ODD))


def test_tail_gives_the_end_or_the_whole_of_a_short_file(house: House) -> None:
    house.write("tail", b"one\ntwo\nthree\n")
    assert house.reader.tail(house.ticket("tail"), "stdout", 6).data == b"three\n"
    assert house.reader.tail(house.ticket("tail"), "stdout", 1000).data == b"one\ntwo\nthree\n"
    house.write("empty", b"")
    chunk = house.reader.tail(house.ticket("empty"), "stdout", 10)
    assert (chunk.data, chunk.offset, chunk.size, chunk.state) == (b"", 0, 0, "open")


def test_a_long_poll_ends_with_the_first_byte_beyond_its_offset(house: House) -> None:
    house.write("poll", b"old")
    ticket = house.ticket("poll")
    timer = threading.Timer(0.5, house.write, ("poll", b"new"), {"append": True})
    timer.start()
    started = time.monotonic()
    chunk = house.reader.read(ticket, "stdout", 3, 100, wait=10)
    assert chunk.data == b"new" and 0.3 < time.monotonic() - started < 9
    started = time.monotonic()
    assert house.reader.read(ticket, "stdout", 6, 100, wait=1).data == b""
    assert time.monotonic() - started > 0.9


def test_a_long_poll_waits_for_a_file_that_is_not_there_yet(house: House) -> None:
    threading.Timer(0.6, house.write, ("unborn", b"first line\n")).start()
    started = time.monotonic()
    assert house.reader.read(house.ticket("unborn"), "stdout", 0, 100, wait=10).data == b"first line\n"
    assert time.monotonic() - started < 9


def test_hundreds_who_wait_cost_one_look_a_time_and_not_one_each(house: House) -> None:
    house.write("popular", b"")
    ticket = house.ticket("popular")
    readers = [Reader(house.reader_socket) for _ in range(10)]
    with ThreadPoolExecutor(300) as pool:
        waiting = [pool.submit(readers[n % 10].read, ticket, "stdout", 0, 10, wait=20) for n in range(300)]
        while house.reader.status()["waiting"] < 300:
            time.sleep(0.05)
        before, started = house.reader.status()["looks"], time.monotonic()
        time.sleep(1)
        looks, seconds = house.reader.status()["looks"] - before, time.monotonic() - started
        assert house.reader.status()["watched"] == 1
        house.write("popular", b"here")
        assert {future.result().data for future in waiting} == {b"here"}
    assert 0 < looks < 60 * seconds, f"{looks} looks in {seconds} s for 300 who wait"
    time.sleep(0.3)
    before = house.reader.status()
    time.sleep(0.3)
    assert before["watched"] == before["waiting"] == 0
    assert house.reader.status()["looks"] == before["looks"], "while nobody waits nothing is looked at"
    for reader in readers:
        reader.close()


def test_a_bad_ticket_is_named_so_and_never_opens_anything(house: House) -> None:
    house.write("kept", b"x")
    good = house.ticket("kept")
    body, signature = good.rsplit(".", 1)
    forged = f"{body}.{signature[:10]}{'A' if signature[10] != 'A' else 'B'}{signature[11:]}"
    for text in ("", "nonsense", good[:-10], forged, house.ticket("kept", not_after=1), "é", "a\nb"):
        with pytest.raises(BadTicket):
            house.reader.read(text, "stdout", 0, 10)
    assert house.reader.read(good, "stdout", 0, 10).data == b"x"
    with pytest.raises(BadTicket):
        house.reader.read(forged, "stdout", 0, 10)  # nor after the good one has been opened


def test_a_ticket_counts_no_more_when_its_time_is_over_though_its_file_is_open(house: House) -> None:
    house.write("short", b"x")
    ticket = house.ticket("short", not_after=int(time.time()) + 3)
    assert house.reader.read(ticket, "stdout", 0, 10).data == b"x"
    time.sleep(4.1)
    with pytest.raises(BadTicket):
        house.reader.read(ticket, "stdout", 0, 10)


@pytest.mark.parametrize(
    "query",
    [
        "stream=stdin",
        "offset=x",
        "offset=1e3",
        "offset=",
        "offset=99999999999999999999",
        "limit=-1",
        "limit=1048577",
        "wait=61",
        "wait=-1",
        "generation=" + "a" * 300,
        "&".join(f"a{n}=1" for n in range(40)),
        "offset=%D9%A1",
    ],
)
def test_an_odd_parameter_is_a_400(house: House, query: str) -> None:
    house.write("kept", b"x")
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(house.reader_socket))) as client:
        answer = client.get(f"http://logs/read?{query}", headers={"x-log-ticket": house.ticket("kept")})
    assert answer.status_code == 400, answer.text


def test_other_paths_and_methods_are_refused(house: House) -> None:
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(house.reader_socket))) as client:
        assert client.get("http://logs/etc/passwd").status_code == 404
        assert client.post("http://logs/read").status_code == 405
        assert client.get("http://logs/read").status_code == 401
        two = [("x-log-ticket", house.ticket("kept")), ("x-log-ticket", house.ticket("kept"))]
        assert client.get("http://logs/read", headers=two).status_code == 401
        assert client.get("http://logs/read%00?x").status_code == 404


def test_a_reader_that_is_not_there_is_named_so(tmp_path) -> None:
    with pytest.raises(ReaderDown):
        Reader(tmp_path / "none.sock").tail("x", "stdout", 1)


def test_an_opener_that_is_not_there_is_named_so_and_missed_no_longer_than_it_is_away(house: House) -> None:
    house.write("waiting", b"x")
    opened = house.ticket("waiting", job_id=21)
    assert house.reader.read(opened, "stdout", 0, 10).data == b"x"
    house.stop("opener")
    try:
        with pytest.raises(ReaderDown):
            house.reader.read(house.ticket("waiting", job_id=22), "stdout", 0, 10)
        assert house.reader.read(opened, "stdout", 0, 10).data == b"x", "what is open stays readable"
    finally:
        house.start("opener")
    time.sleep(1.1)
    assert house.reader.read(house.ticket("waiting", job_id=22), "stdout", 0, 10).data == b"x"


def test_a_reader_that_was_started_anew_is_used_without_an_error(house: House) -> None:
    house.write("again", b"x")
    ticket = house.ticket("again")
    assert house.reader.read(ticket, "stdout", 0, 10).data == b"x"
    before = house.reader.read(ticket, "stdout", 0, 10).generation
    assert house.stop("reader") == 0
    house.start("reader")
    assert house.reader.read(ticket, "stdout", 0, 10).generation == before
