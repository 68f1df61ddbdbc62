"""Whether each thing the portal leans on answers: bounded in time, and at most one look at each at any moment."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import redis
from celery import current_app
from django.conf import settings
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor

from accounts.directory.servers import handshake, servers
from cluster.models import STALE_AFTER, Cluster
from logs.client import Reader

DEADLINE = 1.0  # seconds for all checks together
PATIENCE = 0.8  # seconds one check gives its dependency


class NotReady(Exception):
    """It answers, but not as it should; the text is one of ours and tells nobody anything they may not know."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look found. `ms`: how long it took; `age`: of the thing itself, in seconds, where it has one."""

    ok: bool
    said: str
    ms: float
    at: float
    age: float | None = None

    def told(self) -> dict[str, Any]:
        """For the answer."""
        body: dict[str, Any] = {
            "ok": self.ok,
            "ms": round(self.ms, 1),
            "seconds_ago": round(time.monotonic() - self.at, 1),
        }
        return (
            body
            | ({"said": self.said} if self.said else {})
            | ({} if self.age is None else {"age": round(self.age, 1)})
        )


@dataclass
class Check:
    """One dependency. A result is kept for `keep` seconds, so that asking often costs it nothing."""

    name: str
    look: Callable[[], float | None]
    keep: float = 1.0
    last: Seen | None = None
    began: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _done: threading.Event | None = None

    def start(self) -> threading.Event:
        """Look, unless somebody is looking or the last look is young; the event is set when there is a result."""
        with self._lock:
            if self._done is not None:
                return self._done
            done = threading.Event()
            if self.last and time.monotonic() - self.last.at < self.keep:
                done.set()
                return done
            self._done, self.began = done, time.monotonic()
        threading.Thread(target=self._run, args=(done,), name=f"ready-{self.name}", daemon=True).start()
        return done

    def result(self, done: threading.Event, until: float) -> Seen:
        """What the look found; one that takes too long is no answer."""
        if done.wait(max(0.0, until - time.monotonic())) and self.last:
            return self.last
        now = time.monotonic()
        return Seen(ok=False, said="no answer", ms=(now - self.began) * 1000, at=now)

    def _run(self, done: threading.Event) -> None:
        began, said, age = time.monotonic(), "", None
        try:
            age = self.look()
        except NotReady as error:
            said, age = str(error), getattr(error, "age", None)
        except Exception as error:
            said = f"failed: {type(error).__name__}"
        now = time.monotonic()
        with self._lock:
            self.last = Seen(ok=not said, said=said, ms=(now - began) * 1000, at=now, age=age)
            self._done = None
        done.set()


def look_at_all(checks: Iterable[Check]) -> dict[str, Seen]:
    """All at once, each in a thread of its own; name -> what was seen, within the deadline."""
    until = time.monotonic() + DEADLINE
    under_way = [(check, check.start()) for check in checks]
    return {check.name: check.result(done, until) for check, done in under_way}


def database() -> None:
    """A query, and (until they once were) whether all migrations are applied."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        if not _migrated:
            _look_at_migrations()
    finally:
        connections.close_all()


_migrated: list[bool] = []


def _look_at_migrations() -> None:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise NotReady("migrations are missing")
    _migrated.append(True)


def cluster() -> float:
    """Age of the picture of the cluster, in seconds."""
    try:
        row = Cluster.objects.filter(name=settings.CLUSTER_NAME).first()
    finally:
        connections.close_all()
    if row is None or row.age_seconds is None:
        raise NotReady("never seen")
    if row.stale:
        raise _aged(NotReady(f"older than {STALE_AFTER.seconds} s"), row.age_seconds)
    return row.age_seconds


def _aged(error: NotReady, age: float) -> NotReady:
    error.age = age  # type: ignore[attr-defined]
    return error


def broker() -> None:
    """Redis, where the bells ring."""
    options = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE}
    with current_app.connection_for_write(transport_options=options, connect_timeout=PATIENCE) as link:
        client = getattr(link.default_channel, "client", None)
        if client is not None:
            client.ping()


def hints() -> None:
    """Redis of the channel layer."""
    if settings.HINTS_URL:
        with redis.Redis.from_url(
            settings.HINTS_URL, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE
        ) as client:
            client.ping()


@cache
def _reader() -> Reader:
    return Reader(settings.READER_SOCKET, timeout=PATIENCE)


def log_reader() -> None:
    """The socket of the log reader."""
    _reader().status()


def directory() -> None:
    """The institutional directory: a TLS handshake with a checked certificate. Nobody signs in for it, and a slow
    answer here does not make the next person's sign-in wait less patiently."""
    known = [server for server in servers() if server.encrypted and server.host]
    if not known:
        raise NotReady("not set up")
    trouble = "no answer"
    for server in known:
        try:
            handshake(server, PATIENCE / len(known)).close()
        except ssl.SSLError:
            trouble = "certificate refused"
        except OSError:
            continue
        else:
            return
    raise NotReady(trouble)


CHECKS = (
    Check("database", database),
    Check("broker", broker),
    Check("hints", hints),
    Check("cluster", cluster),
    Check("log_reader", log_reader),
    Check("directory", directory, keep=5.0),
)
