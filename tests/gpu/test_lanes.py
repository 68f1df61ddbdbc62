"""Calls with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from gpu.lanes import Lanes, Stuck
from tests.clock import within


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    found = Lanes(0.08)
    yield found
    found.close()


def test_results_and_errors_by_key(lanes: Lanes) -> None:
    def wrong() -> None:
        raise ValueError("no")

    found = lanes.run({"a": lambda: 1, "b": wrong, "c": lambda: None})
    assert found["a"] == 1 and found["c"] is None
    assert isinstance(found["b"], ValueError)


def test_two_that_hang_cost_their_own_results_and_come_back(lanes: Lanes) -> None:
    gate = threading.Event()
    calls = {"a": lambda: 1, "b": gate.wait, "c": lambda: 3, "d": gate.wait, "e": lambda: 5}
    begun = time.monotonic()
    found = lanes.run(calls)
    assert time.monotonic() - begun < 30
    assert [found[key] for key in "ace"] == [1, 3, 5]
    assert isinstance(found["b"], Stuck) and isinstance(found["d"], Stuck)
    assert lanes.hung == 2
    again = within(0.05, lambda: lanes.run(calls))  # who hangs is not waited for again
    assert isinstance(again["b"], Stuck)
    gate.set()
    time.sleep(0.05)
    assert lanes.run(calls) == {"a": 1, "b": True, "c": 3, "d": True, "e": 5}
    assert lanes.hung == 2
