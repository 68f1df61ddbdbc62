"""One act in a process of its own, with a connection of its own, killed by SIGKILL around its event; and what it leaves."""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, NamedTuple, NoReturn

import psycopg
from django.core.cache import cache
from django.db import connection, connections

from audit import identities, trail

PASSING = {"django_session", "axes_accesslog", "axes_accessattempt"}  # change by being called, whatever comes of it
WRITES = ("INSERT", "UPDATE", "DELETE")
DOING = 0x61637473  # an advisory lock's: held as long as the act's connection lives
Act = Callable[[], int]  # what it answered


class Moment(StrEnum):
    """When the process dies."""

    FIRST = "before its first write"
    EVENT = "before its event"
    COMMIT = "after its event, before the commit"
    NEVER = "never"


class End(NamedTuple):
    """How the process ended; what it answered and the events it wrote are known of one that was let through."""

    killed: bool
    status: int = 0
    events: tuple[str, ...] = ()


def make(name: str, template: str) -> None:
    """A database like the other, in the place of an older one."""
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        cursor.execute(f"CREATE DATABASE {name} TEMPLATE {template}")


def drop(name: str) -> None:
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Django speaks to this database, by a connection of its own; the one before goes on afterwards."""
    before = connections["default"]
    own = type(before)(before.settings_dict | {"NAME": name}, "default")
    connections["default"] = own
    identities.forget()
    try:
        yield
    finally:
        own.close()
        connections["default"] = before
        identities.forget()


def tables_by(ask: Callable[[str], Sequence[Any]]) -> dict[str, Any]:
    """Every row of every table, as one number a table; `ask` gives the rows of a statement."""
    each = (
        f"SELECT '{table}', count(*), sum(hashtextextended((to_jsonb(t) - 'last_used_at')::text, 0)) FROM {table} t"
        for (table,) in ask("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        if table not in PASSING
    )
    return {table: rest for table, *rest in ask(" UNION ALL ".join(each))}


def fingerprint(name: str) -> dict[str, Any]:
    """Of a whole database, once nobody acts there any more."""
    facts = connection.get_connection_params() | {"dbname": name}
    with psycopg.connect(**facts, autocommit=True) as asking:
        asking.execute("SELECT pg_advisory_lock(%s)", [DOING])
        return tables_by(lambda statement: asking.execute(statement).fetchall())


def act_in(name: str, act: Act, moment: Moment = Moment.NEVER, number: int = 1, role: str = "web") -> End:
    """Forked, so that all of ours is loaded; `number`: at which event of several; no `role`: as the superuser."""
    hears, says = os.pipe()
    child = os.fork()
    if not child:
        _alone(name, act, moment, number, role, says)
    os.close(says)
    try:
        with os.fdopen(hears) as pipe:
            said = pipe.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        ended = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(ended):
        assert (os.WTERMSIG(ended), said) == (signal.SIGKILL, "")
        return End(killed=True)
    found = json.loads(said)
    assert "error" not in found, found["error"]
    return End(killed=False, status=found["status"], events=tuple(found["events"]))


def _alone(name: str, act: Act, moment: Moment, number: int, role: str, says: int) -> NoReturn:
    """The process: it never comes back to the tests it was forked from, whatever happens."""
    try:
        cache.clear()
        connections["default"] = type(connections["default"])(connection.settings_dict | {"NAME": name}, "default")
        identities.forget()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [DOING])
            cursor.execute(f"SET ROLE {role}" if role else "RESET ROLE")
        events = _dies(moment, number)
        said: dict[str, Any] = {"status": act(), "events": events}
        connection.close()
    except BaseException:
        said = {"error": traceback.format_exc()}
    os.write(says, json.dumps(said).encode())
    os._exit(0)


def _dies(moment: Moment, number: int) -> list[str]:
    """From now on, at that moment; the events that are written until then."""
    events = list[str]()

    def told(write: Callable[[Any], None]) -> Callable[[Any], None]:
        def instead(rows: Any) -> None:
            events.extend(row.action for row in (rows if isinstance(rows, list) else [rows]))
            if moment is Moment.EVENT and len(events) >= number:
                os.kill(os.getpid(), signal.SIGKILL)
            write(rows)
            if moment is Moment.COMMIT and len(events) >= number:
                os.kill(os.getpid(), signal.SIGKILL)

        return instead

    def counted(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if moment is Moment.FIRST and _changes(str(sql)):
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(sql, params, many, context)

    trail.insert, trail.insert_all = told(trail.insert), told(trail.insert_all)  # type: ignore[assignment]
    connection.execute_wrappers.append(counted)
    return events


def _changes(sql: str) -> bool:
    return sql.lstrip()[:6].upper() in WRITES and not any(table in sql for table in PASSING)
