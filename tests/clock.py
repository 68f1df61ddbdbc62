"""Bounds on time that hold on a busy machine: what waits too long waits so every time, what was delayed does not."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, act: Callable[[], T], tries: int = 5) -> T:
    """What `act` answered in the first run that took less than `seconds`; fails when none of a few did."""
    took = []
    for _ in range(tries):
        began = time.monotonic()
        answer = act()
        took.append(time.monotonic() - began)
        if took[-1] < seconds:
            return answer
    raise AssertionError(f"never within {seconds} s: {', '.join(f'{each:.2f}' for each in took)} s")
