"""Charts and sums through a real Prometheus: by the job's own nodes, bounded, honest about what was not read."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.metrics import names
from cluster.metrics.charts import POINTS, Card, Where, cards_of, chart
from cluster.metrics.prometheus import Away, Line, Prometheus
from cluster.metrics.sums import longest_idle, shrink, sums
from tests.cluster.conftest import NOW, START

WHERE = Where(77, ("gpu01",), START, NOW)


def test_the_cards_of_a_job_are_those_of_its_own_nodes(prometheus: Prometheus) -> None:
    """gpu02 says that job 77 runs there, too; our own row says where it runs."""
    assert cards_of(WHERE, prometheus) == [Card("gpu01", "0"), Card("gpu01", "1")]
    assert cards_of(Where(99, ("gpu01",), START, NOW), prometheus) == []
    assert cards_of(Where(77, (), START, NOW), prometheus) == []


def test_a_chart_keeps_the_least_and_the_most_of_each_step(prometheus: Prometheus) -> None:
    cards = cards_of(WHERE, prometheus)
    found = chart(WHERE, cards, points=100, source=prometheus)
    assert set(found.bands) == {"utilization", "memory", "power", "temperature"}
    busy, idle = found.bands["utilization"]
    assert found.steps <= 50 and busy.high is not None and idle.high is not None
    assert max(value for value in busy.high if value is not None) == 90
    assert min(value for value in busy.low if value is not None) == 10  # a dip of ten seconds is not lost
    assert idle.high[-3] == 0 and idle.high[3] == 80
    assert found.bands["memory"][1].low[5] == 16384


@pytest.mark.parametrize("points", [4, 50, 2000, 10**6])
def test_never_more_points_than_are_allowed(prometheus: Prometheus, points: int) -> None:
    found = chart(WHERE, [Card("gpu01", "0")], points=points, source=prometheus)
    band = found.bands["power"][0]
    assert len(band.low) + len(band.high or ()) <= min(points, POINTS)
    assert found.start <= START and found.start + found.steps * found.step >= min(NOW, START + found.step)


def test_what_was_not_read_is_a_hole(prometheus: Prometheus) -> None:
    where = Where(77, ("gpu01",), START - 3600, NOW)
    found = chart(where, [Card("gpu01", "0")], points=100, source=prometheus)
    row = found.bands["memory"][0].low
    assert row[3] is None and row[-3] == 8192


def test_sums_of_a_whole_run(prometheus: Prometheus) -> None:
    busy, idle = sums(WHERE, cards_of(WHERE, prometheus), prometheus)
    assert busy.mean == pytest.approx(83.3, abs=1) and busy.most == 90
    assert busy.active_share == pytest.approx(1, abs=0.02)
    assert busy.memory == 8192 and busy.memory_total == 40960
    assert idle.active_share == pytest.approx(0.5, abs=0.02)
    assert idle.longest_idle == pytest.approx(1800, abs=60)
    assert busy.measured > 0.95 and len(busy.spark) <= 60 and busy.spark[5] == 90
    assert idle.spark[-2] == 0


@given(st.text(max_size=30))
def test_no_text_leaves_its_place_in_a_question(text: str) -> None:
    try:
        asked = names.chosen(names.OURS, "power", [text], [text])
    except ValueError:
        return
    assert asked.count('"') == 4 and "{" not in text and "}" not in text and "\n" not in text


def test_a_number_is_a_number() -> None:
    for text in ('7"} or vector(1)', "-1", "", "1.5", "７"):
        with pytest.raises(ValueError):
            names.allotted(names.OURS, text, ["gpu01"])  # type: ignore[arg-type]


def test_both_dialects_know_the_same_readings() -> None:
    assert set(names.OURS.readings) == set(names.DCGM.readings) >= set(names.CHARTED)


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen(4)
        yield f"http://127.0.0.1:{door.getsockname()[1]}"


def test_silence_nonsense_and_nobody_are_away(silent: str, prometheus: Prometheus) -> None:
    begun = time.monotonic()
    with pytest.raises(Away):
        Prometheus(silent, 0.3).now("up")
    assert time.monotonic() - begun < 20
    with pytest.raises(Away):
        Prometheus("http://127.0.0.1:1", 0.3).now("up")
    with pytest.raises(Away):
        prometheus.now("this is no question {")


def test_an_answer_that_drips_is_away() -> None:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen(1)

        def drip() -> None:
            link, _ = door.accept()
            with link:
                link.recv(4096)
                link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                for _ in range(600):
                    try:
                        link.sendall(b" ")
                    except OSError:
                        return
                    time.sleep(0.1)

        threading.Thread(target=drip, daemon=True).start()
        begun = time.monotonic()
        with pytest.raises(Away):
            Prometheus(f"http://127.0.0.1:{door.getsockname()[1]}", 0.5).now("up")
        assert time.monotonic() - begun < 30


def test_idle_rows_and_small_pictures() -> None:
    assert longest_idle([50, 0, 1, None, 0, 2, 0, 90]) == 3
    assert longest_idle([]) == 0
    assert shrink([1, 5, None, None, 9, 2], 3) == [5, None, 9]
    assert len(shrink([0.0] * 1000, 60)) <= 60


def test_a_long_step_is_read_from_the_minutes_where_they_are_recorded(prometheus: Prometheus) -> None:
    """GPU 0 has recorded minutes of its power, 7 to 9 W, which its readings of 250 W do not know."""
    found = chart(WHERE, [Card("gpu01", "0")], readings=("power", "memory"), points=40, source=prometheus)
    assert found.step >= 120
    power, memory = found.bands["power"][0], found.bands["memory"][0]
    assert power.high is not None and memory.high is not None
    assert (power.low[5], power.high[5]) == (7, 9)
    assert memory.low[5] == 8192
    fine = chart(WHERE, [Card("gpu01", "0")], readings=("power",), points=1000, source=prometheus)
    assert fine.bands["power"][0].low[200] == 250


def test_a_card_that_was_replaced_has_one_line() -> None:
    """Its number stays, its UUID is another: two series, one after the other."""

    class Two:
        def over(self, *_: object) -> list[Line]:
            return [
                Line({"node": "gpu01", "gpu": "0", "uuid": "old"}, [(START, 0.1), (START + 1, 0.2)]),
                Line({"node": "gpu01", "gpu": "0", "uuid": "new"}, [(START + 3, 0.4)]),
            ]

    where = Where(77, ("gpu01",), START, START + 3)
    found = chart(where, [Card("gpu01", "0")], readings=("utilization",), source=Two())  # type: ignore[arg-type]
    assert found.bands["utilization"][0].low == [10, 20, None, 40]
