"""When a session was last used by its person: kept in Redis, written down once a minute, read when it matters.

A page must not write to the database for having been looked at. Polling by the page itself is no act of the person.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import redis
import structlog
from django.conf import settings
from django.http import HttpRequest

from accounts.models import SessionInfo

log = structlog.get_logger(__name__)

KEY, FLUSHING = "bancada:seen", "bancada:seen:flushing"
POLL_HEADER = "X-Bancada-Poll"
NOTE_EVERY = 60.0  # seconds between two notes of one session by one process
WRITE_EVERY = 300.0  # seconds between two writes where there is no Redis
MOST_REMEMBERED = 10_000

_noted: dict[int, float] = {}  # session number -> when this process last noted it


def is_act(request: HttpRequest) -> bool:
    """Whether the person did something, rather than the page by itself."""
    return POLL_HEADER not in request.headers


def note(session: Mapping[str, Any]) -> None:
    """The person of this session did something just now."""
    number, now = session.get("info"), time.time()
    if not number or now - max(_noted.get(number, 0.0), session.get("began", 0.0)) < NOTE_EVERY:
        return
    if len(_noted) >= MOST_REMEMBERED:
        _noted.clear()
    if settings.HINTS_URL:
        _quietly(lambda: _redis().hset(KEY, str(number), str(now)))
        _noted[number] = now
    elif now - max(_noted.get(number, 0.0), session.get("began", 0.0)) >= WRITE_EVERY:
        SessionInfo.objects.filter(pk=number).update(seen_at=datetime.fromtimestamp(now, UTC))
        _noted[number] = now


def last_act(session: Mapping[str, Any]) -> float:
    """Unix time of the last act we know of; looks further only where what is at hand would end the session."""
    number = session.get("info", 0)
    known = max(session.get("began", 0.0), _noted.get(number, 0.0))
    if time.time() - known < settings.SESSION_IDLE_SECONDS:
        return float(known)
    found = max(known, _in_redis(number), _in_database(number))
    if found > known:
        _noted[number] = found
    return float(found)


def flush() -> int:
    """Write what Redis holds to the sessions' rows; how many there were. A run that broke is taken up by the next."""
    if not settings.HINTS_URL:
        return 0
    store = _redis()
    if store.exists(KEY):
        store.renamenx(KEY, FLUSHING)
    found = {int(number): float(seen) for number, seen in store.hgetall(FLUSHING).items()}
    rows = list(SessionInfo.objects.filter(pk__in=found))
    for row in rows:
        row.seen_at = max(row.seen_at, datetime.fromtimestamp(found[row.pk], UTC))
    SessionInfo.objects.bulk_update(rows, ["seen_at"], batch_size=500)
    store.delete(FLUSHING)
    return len(rows)


@cache
def _redis() -> redis.Redis:
    return redis.Redis.from_url(settings.HINTS_URL, socket_timeout=0.5, socket_connect_timeout=0.5)


def _quietly(act: Any) -> Any:
    try:
        return act()
    except redis.RedisError as error:
        log.warning("last act not kept", error=type(error).__name__)
        return None


def _in_redis(number: int) -> float:
    if not settings.HINTS_URL:
        return 0.0
    values = [_quietly(lambda key=key: _redis().hget(key, str(number))) for key in (KEY, FLUSHING)]
    return max((float(value) for value in values if value), default=0.0)


def _in_database(number: int) -> float:
    seen = SessionInfo.objects.filter(pk=number).values_list("seen_at", flat=True).first()
    return seen.timestamp() if seen else 0.0
