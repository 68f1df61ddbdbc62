"""The one client of Prometheus: a deadline on each question, a bound on each answer, one error for all failures."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import httpx
from django.conf import settings

DEADLINE = 3.0  # seconds of one question
MOST = 32 * 1024 * 1024  # bytes of one answer


class Away(Exception):
    """Prometheus is not there, did not answer in time, or answered nonsense."""


class Sample(NamedTuple):
    """One series at one moment."""

    labels: dict[str, str]
    value: float


class Line(NamedTuple):
    """One series over time: (unix seconds, value), in order, with gaps where there was nothing."""

    labels: dict[str, str]
    points: Iterable[tuple[float, float]]


class Prometheus:
    """One Prometheus by its address; a name and password may stand in it."""

    def __init__(self, url: str, deadline: float = DEADLINE) -> None:
        self.deadline = deadline
        self._client = httpx.Client(base_url=url.rstrip("/") + "/api/v1/", timeout=deadline, trust_env=False)

    def now(self, expression: str, at: float | None = None) -> list[Sample]:
        """The value of each series, now or at a moment (unix seconds). Raises Away."""
        rows = self._ask("query", {"query": expression} | ({"time": f"{at:.3f}"} if at is not None else {}))
        return [Sample(row["metric"], float(row["value"][1])) for row in rows]

    def over(self, expression: str, start: float, end: float, step: float) -> list[Line]:
        """Each series from start to end (unix seconds), a point every `step` seconds. Raises Away."""
        asked = {"query": expression, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:g}"}
        return [
            Line(row["metric"], ((at, float(value)) for at, value in row["values"]))  # tens of thousands: none is kept
            for row in self._ask("query_range", asked)
        ]

    def _ask(self, path: str, words: dict[str, str]) -> list[dict[str, Any]]:
        try:
            answer = json.loads(self._read(path, words | {"timeout": f"{self.deadline:g}s"}))
            if answer["status"] != "success":
                raise Away(str(answer.get("error", "refused"))[:200])
            found: list[dict[str, Any]] = answer["data"]["result"]
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as why:
            raise Away(f"{type(why).__name__}: {why}"[:200]) from why
        return found

    def _read(self, path: str, words: dict[str, str]) -> bytes:
        """The answer's bytes; Away when all of them do not come in time, or are too many."""
        until, parts, size = time.monotonic() + self.deadline, list[bytes](), 0
        with self._client.stream("POST", path, data=words) as answer:
            for part in answer.iter_bytes():
                parts.append(part)
                size += len(part)
                if size > MOST or time.monotonic() > until:
                    raise Away("too much, or too slowly")
        return b"".join(parts)


@cache
def prometheus() -> Prometheus | None:
    """The site's, as PROMETHEUS_URL says; None where it has none."""
    return Prometheus(settings.PROMETHEUS_URL) if settings.PROMETHEUS_URL else None


def need() -> Prometheus:
    """The same; Away where there is none."""
    found = prometheus()
    if found is None:
        raise Away("no Prometheus is set up")
    return found
