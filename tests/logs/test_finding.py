"""Finding text and lines through the running reader, and what it costs beside grep."""

from __future__ import annotations

import random
import subprocess
import time
from functools import partial

import pytest

from logs.client import Reader
from tests.logs.house import House


def test_through_the_reader(house: House) -> None:
    house.write("find", b"epoch 1\nLoss 0.5\nepoch 2\nloss 0.4\nTraceback\n")
    ticket, reader = house.ticket("find"), house.reader
    assert reader.find(ticket, "stdout", "epoch").matches == ((1, 0), (3, 17))
    assert reader.find(ticket, "stdout", "loss").matches == ((4, 25),)
    assert reader.find(ticket, "stdout", "LOSS", ignore_case=True).matches == ((2, 8), (4, 25))
    one = reader.find(ticket, "stdout", b"epoch", limit=1)
    assert (one.matches, one.complete) == (((1, 0),), False)
    assert reader.find(ticket, "stdout", b"epoch", after=one.next).matches == ((3, 17),)
    assert (reader.line(ticket, "stdout", 4).offset, reader.line_at(ticket, "stdout", 20).line) == (25, 3)
    assert reader.find(house.ticket("nothing"), "stdout", "x").state == "missing"
    assert reader.line(house.ticket("nothing"), "stdout", 1).state == "missing"
    for query in ("", "a\nb", "a" * 1025):
        with pytest.raises(ValueError, match="refused"):
            reader.find(ticket, "stdout", query)


def test_a_rewritten_file_has_its_own_lines(house: House) -> None:
    house.write("relined", b"\n" * 3_000_000)
    ticket = house.ticket("relined")
    assert house.reader.line_at(ticket, "stdout", 2_500_000).line == 2_500_001
    house.write("relined", b"x" * 2_999_999 + b"\n")
    assert house.reader.line_at(ticket, "stdout", 2_500_000).line == 1
    house.write("relined", b"y\n" * 1000)
    assert house.reader.line(ticket, "stdout", 1001).offset == 2000


def test_a_search_over_a_big_log_costs_a_few_times_what_grep_does(house: House) -> None:
    """1,000,000 lines, 120 MB. Measured at about 4 x grep -c on an idle machine; others may be at work beside us."""
    line = b"epoch 3 step %06d loss=0.1234 " + b"x" * 84 + b"\n"
    rng = random.Random(7)
    path = house.write("million", b"".join(line % (n if rng.random() < 0.999 else 777) for n in range(1_000_000)))
    ticket, reader = house.ticket("million"), Reader(house.reader_socket, timeout=30)
    grep = min(
        _seconds(partial(subprocess.run, ["grep", "-c", "step 000777", path], stdout=subprocess.PIPE)) for _ in range(3)
    )
    ours = min(_seconds(partial(_search_all, reader, ticket)) for _ in range(3))
    jump = _seconds(partial(reader.line, house.ticket("million", job_id=99), "stdout", 750_000))
    print(f"\ngrep -c {grep * 1000:.0f} ms, find {ours * 1000:.0f} ms, line 750,000 {jump * 1000:.0f} ms")
    assert ours < 6 * grep + 0.3
    assert jump < 1
    reader.close()
    path.unlink()


def _search_all(reader: Reader, ticket: str) -> None:
    after = 0
    while not (found := reader.find(ticket, "stdout", "step 000777", after=after, limit=1000)).complete:
        after = found.next


def _seconds(call) -> float:
    started = time.monotonic()
    call()
    return time.monotonic() - started
