"""Calls of a driver with a deadline: one that hangs costs its own card and a thread, the others go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any


class Stuck(Exception):
    """The call has not come back."""


class Lane:
    """One thread that does calls in order; given up when one of them hangs."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.todo: list[tuple[Any, Callable[[], Any]]] = []
        self.done: dict[Any, Any] = {}
        self.doing: Hashable | None = None
        self.since = 0.0
        self.given_up = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while True:
            with self.condition:
                while not self.todo and not self.given_up:
                    self.condition.wait()
                if self.given_up:
                    return
                self.doing, call = self.todo.pop(0)
                self.since = time.monotonic()
            result = _result(call)
            with self.condition:
                self.done[self.doing] = result
                self.doing = None
                self.condition.notify_all()

    def leave(self) -> None:
        """End once what is being done is done."""
        with self.condition:
            self.given_up = True
            self.todo.clear()
            self.condition.notify_all()


def _result(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as why:  # handed over as the result
        return why


class Lanes:
    """`run({key: call})`: each key's result, the exception it raised, or Stuck. `deadline`: seconds for each call."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.hung = 0  # calls that ever were too late
        self._lane = Lane()
        self._stuck: dict[Hashable, Lane] = {}

    def run(self, calls: Mapping[Any, Callable[[], Any]]) -> dict[Any, Any]:
        """All of them in order; keys whose earlier call still hangs are not called again."""
        self._stuck = {key: lane for key, lane in self._stuck.items() if lane.thread.is_alive()}
        results: dict[Any, Any] = {key: Stuck() for key in calls if key in self._stuck}
        todo = [(key, call) for key, call in calls.items() if key not in self._stuck]
        while todo:
            done = self._some(todo)
            results |= done
            todo = [(key, call) for key, call in todo if key not in done]
        return results

    def _some(self, todo: list[tuple[Any, Callable[[], Any]]]) -> dict[Any, Any]:
        """What this lane got done of it; where it hangs it is given up, and another takes its place."""
        lane, count = self._lane, len(todo)
        with lane.condition:
            lane.done, lane.todo = {}, list(todo)
            lane.condition.notify_all()
            while len(lane.done) < count:
                late = self._late(lane)
                if late is None:
                    lane.condition.wait(self.deadline / 4)
                    continue
                done = {**lane.done, late: Stuck()}
                break
            else:
                return dict(lane.done)
        self._give_up(lane, late)
        return done

    def _late(self, lane: Lane) -> Hashable | None:
        late = lane.doing is not None and time.monotonic() - lane.since > self.deadline
        return lane.doing if late else None

    def _give_up(self, lane: Lane, key: Hashable) -> None:
        lane.leave()
        self.hung += 1
        self._stuck[key] = lane
        self._lane = Lane()

    def close(self) -> None:
        """Let the threads end."""
        self._lane.leave()
