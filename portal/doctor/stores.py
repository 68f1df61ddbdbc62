"""PostgreSQL and Redis: who we are there, whether the tables are ours to use, whether the bells can ring."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import redis
from celery import current_app
from django.conf import settings
from django.db import OperationalError as DatabaseDown
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from kombu.exceptions import OperationalError

from portal.doctor.finding import Trouble
from portal.roles import GRANTS, ROLES

SETUP = "run `manage.py setup_roles` as the database's superuser"
OLDEST_POSTGRES = 14
LONGEST_QUEUE = 50
SKEW_SECONDS = 5.0
QUEUES = ("default", "slurm")
QUICK: dict[str, Any] = {"socket_timeout": 2, "socket_connect_timeout": 2}
ONCE = QUICK | {"max_retries": 1, "interval_start": 0, "interval_step": 0}
WHO = """SELECT current_user, current_setting('server_version_num')::int / 10000, rolsuper
         FROM pg_roles WHERE rolname = current_user"""
OFF = """SELECT count(*) FROM pg_trigger
         WHERE tgrelid = 'audit_auditevent'::regclass AND NOT tgisinternal AND tgenabled <> 'A'"""


def role() -> str:
    """The database role of this process; empty where there is no database."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_user")
            return str(cursor.fetchone()[0])
    except DatabaseDown:
        return ""


def postgres() -> str:
    """It answers, is new enough, and we are one of the roles."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(WHO)
            who, version, superuser = cursor.fetchone()
    except DatabaseDown as error:
        raise Trouble(str(error).splitlines()[0], "start PostgreSQL, or correct DATABASE_URL") from error
    if version < OLDEST_POSTGRES:
        raise Trouble(f"PostgreSQL {version}", f"use PostgreSQL {OLDEST_POSTGRES} or later")
    if not superuser and who not in ROLES:
        raise Trouble(f"connected as {who}, which is none of {', '.join(ROLES)}", "correct DATABASE_URL")
    return f"PostgreSQL {version} as {who}" + (
        " (superuser: for set-up only, never for a process)" if superuser else ""
    )


def migrations() -> str:
    """All applied."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        raise Trouble(f"{len(plan)} migrations are not applied", SETUP)
    return "all applied"


def grants() -> str:
    """This role has its part of each table, and the trail's triggers are always on."""
    who = role()
    missing = [table for table, rows in GRANTS.items() if who in rows and not _may(table, rows[who])]
    if missing:
        raise Trouble(f"{who} lacks rights on {', '.join(missing)}", SETUP)
    with connection.cursor() as cursor:
        cursor.execute(OFF)
        if cursor.fetchone()[0]:
            raise Trouble("triggers of the audit trail are off", SETUP)
    return f"{who} has its part of each table; the trail is guarded"


def _may(table: str, wanted: str) -> bool:
    """Whether we have what a line of portal.roles.GRANTS says (rights on single columns are not looked at)."""
    words = [word.strip() for word in wanted.split("(")[0].split(",")]
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [table])
        if not cursor.fetchone()[0]:
            return False
        whole = words[:-1] if "(" in wanted else words
        return all(_has(cursor, table, word) for word in whole)


def _has(cursor: object, table: str, word: str) -> bool:
    cursor.execute("SELECT has_table_privilege(%s, %s)", [table, word])  # type: ignore[attr-defined]
    return bool(cursor.fetchone()[0])  # type: ignore[attr-defined]


def broker() -> str:
    """Redis of the bells, and whether anybody answers them."""
    fix = "start Redis, or correct BANCADA_BROKER_URL"
    try:
        with current_app.connection_for_write(settings.CELERY_BROKER_URL, transport_options=ONCE) as link:
            store = getattr(link.default_channel, "client", None)
            if store is None:
                raise Trouble("this broker keeps nothing", "set BANCADA_BROKER_URL to a Redis")
            _keeps_all(store)
            waiting = {name: int(store.llen(name)) for name in QUEUES}
    except (OSError, redis.RedisError, OperationalError) as error:
        raise Trouble(str(error) or type(error).__name__, fix) from error
    crowded = [f"{name} {count}" for name, count in waiting.items() if count > LONGEST_QUEUE]
    if crowded:
        raise Trouble(f"messages wait: {', '.join(crowded)}", "start the Celery worker of that queue, or read its log")
    return f"answers; {sum(waiting.values())} messages wait"


def hints() -> str:
    """Redis of the channel layer."""
    if not settings.HINTS_URL:
        raise Trouble("not set: pages learn of changes only by asking again", "set BANCADA_HINTS_URL to a Redis")
    try:
        with redis.Redis.from_url(settings.HINTS_URL, **QUICK) as store:
            _keeps_all(store)
    except redis.RedisError as error:
        raise Trouble(str(error), "start Redis, or correct BANCADA_HINTS_URL and its password") from error
    return "answers"


def _keeps_all(store: redis.Redis) -> None:
    """It answers, and throws nothing away when it is full."""
    store.ping()
    policy = str(store.info("memory").get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        raise Trouble(f"Redis may throw messages away (maxmemory-policy {policy})", "set maxmemory-policy noeviction")


def clock() -> str:
    """Our clock against the database's: tokens, tickets and munge all live by it."""
    skew = abs(_timed(lambda: _database_time()))
    if skew > SKEW_SECONDS:
        raise Trouble(f"{skew:.0f} s away from the database's clock", "run a time service (chrony) on every machine")
    return f"within {max(skew, 0.1):.1f} s of the database's"


def _timed(ask: Callable[[], float]) -> float:
    before = time.time()
    theirs = ask()
    return theirs - (before + time.time()) / 2


def _database_time() -> float:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        return float(cursor.fetchone()[0])
