"""The agent's clockwork: one pass over the cards a second, the node every few, what they saw kept to be served."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pynvml as nvml

from gpu import cards, driver, host
from gpu.allotted import Allotments
from gpu.card import read
from gpu.lanes import Lanes
from gpu.text import Reading, write
from gpu.usage import Usage
from gpu.whose import Whose

VERSION = "1"
EVERY, NODE_EVERY, RETRY = 1.0, 5.0, 30.0  # seconds between passes, looks at the node, tries to open what is away
FRESH = 0.5  # seconds: who asks for more recent than this gets a pass of its own
CALL = 2.0  # seconds one call of the driver may take


class Watch:
    """What is served: `text()` at any moment, kept up by `run()` in a thread of its own."""

    def __init__(self, whose: Whose, allotments: Allotments, usage: Usage, *, call: float = CALL) -> None:
        self.whose, self.allotments, self.usage = whose, allotments, usage
        self.lanes = Lanes(call)
        self.driver: driver.Driver | None = None
        self.missing = "not looked for yet"
        self._cards: dict[Any, Any] = {}
        self._host: list[Reading] = []
        self._sampled = self._looked = self._tried = float("-inf")
        self._took = 0.0
        self._passes = 0
        self._seen = threading.Lock()  # half a look would call a job's process nobody's
        self._wanted, self._passed = threading.Event(), threading.Condition()
        self.ended = threading.Event()

    def run(self) -> None:
        """Until `ended` is set."""
        while not self.ended.is_set():
            self.turn()
            self._wanted.wait(max(0.0, self._sampled + EVERY - time.monotonic()))
            self._wanted.clear()

    def turn(self) -> None:
        """One pass; the node and the driver too where their time has come."""
        begun = time.monotonic()
        if begun - self._looked >= NODE_EVERY:
            self._looked = begun
            self._look()
        if begun - self._tried >= RETRY and self._incomplete():
            self._tried = begun
            self._open()
        self._pass()
        with self._passed:
            self._sampled = time.monotonic()
            self._took = self._sampled - begun
            self._passes += 1
            self._passed.notify_all()

    def _look(self) -> None:
        with self._seen:
            self.whose.look()
            self.allotments.look()
            self._host = [*self.usage.readings(), *host.readings()]

    def _incomplete(self) -> bool:
        return self.driver is None or any(card.handle is None for card in self.driver.cards)

    def _open(self) -> None:
        """Open the driver, or the cards of it that could not be opened."""
        if self.driver is None:
            found = self.lanes.run({"driver": driver.open_driver})["driver"]
            self.driver = found if isinstance(found, driver.Driver) else None
            self.missing = "" if self.driver else (str(found) or type(found).__name__)
            return
        away: dict[Any, Any] = {
            card.index: partial(driver.open_card, card.index) for card in self.driver.cards if card.handle is None
        }
        for index, found in self.lanes.run(away).items():
            if not isinstance(found, Exception):
                self.driver.cards[index] = found

    def _pass(self) -> None:
        if self.driver is None:
            return
        slow = self._passes % max(1, len(self.driver.cards))
        calls: dict[Any, Callable[[], Any]] = {c.index: partial(read, c, c.index == slow) for c in self.driver.cards}
        calls["events"] = partial(driver.take_events, self.driver)
        results = self.lanes.run(calls)
        for card in self.driver.cards:
            result = results[card.index]
            if isinstance(result, nvml.NVMLError) and cards.state_of(result) == "lost":
                card.handle = None  # its handle is worth nothing any more: asked for anew
        self._cards = results

    def result(self, index: int) -> Any:
        """What the last pass over a card gave: a Sample, or the exception instead of one."""
        return self._cards.get(index)

    def fresh(self, patience: float = 0.3) -> None:
        """Wait for a pass where the last is older than FRESH, but no longer than `patience` seconds."""
        with self._passed:
            if time.monotonic() - self._sampled > FRESH:
                self._wanted.set()
                self._passed.wait(patience)

    def text(self) -> bytes:
        """What is known now, as Prometheus text."""
        with self._seen:
            return write([*self._own(), *self._of_cards(), *self._host])

    def _of_cards(self) -> Iterator[Reading]:
        found, results = self.driver, self._cards
        if found is None:
            return
        for card in found.cards:
            if card.index in results:
                yield from cards.readings(card, results[card.index], self.whose, self.allotments)
        for (index, xid), count in found.xids.items():
            yield Reading("bancada_gpu_xid_errors_total", (str(index), found.cards[index].uuid, str(xid)), count)

    def _own(self) -> Iterator[Reading]:
        found = self.driver
        simulated = "1" if found and found.simulated else "0"
        yield Reading("bancada_agent_info", (VERSION, found.version if found else "", simulated), 1)
        yield Reading("bancada_agent_driver_up", (), float(found is not None))
        if self._passes:
            yield Reading("bancada_agent_sample_age_seconds", (), time.monotonic() - self._sampled)
        yield Reading("bancada_agent_pass_seconds", (), self._took)
        yield Reading("bancada_agent_hung_calls_total", (), self.lanes.hung)
