"""Many requests of one instant, each by a process of its own with its own connection."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from multiprocessing.synchronize import Barrier
from typing import Any

from tests.bench.place import JSON, Client, Place

_FORK = multiprocessing.get_context("fork")


def together(place: Place, users: list[str], body: bytes) -> Counter[int]:
    """One request for each of `users`, all let go at once; how often the portal answered what."""
    for user in set(users):
        place.token(user)  # the children only use it
    gate, answers = _FORK.Barrier(len(users)), _FORK.SimpleQueue()
    racers = [_FORK.Process(target=_one, args=(place, user, body, gate, answers)) for user in users]
    for racer in racers:
        racer.start()
    found = Counter(answers.get() for _ in racers)
    for racer in racers:
        racer.join()
    return found


def _one(place: Place, user: str, body: bytes, gate: Barrier, answers: Any) -> None:
    """0 where no answer came at all."""
    status = 0
    try:
        caller: Client = place.api(user)
        caller.get("/api/v1/me")  # connected and known before the start
        gate.wait(timeout=120)
        status = caller.post("/api/v1/jobs", body, **JSON).status
    finally:
        answers.put(status)
