"""One fate for act and event, watched in every test of a service: what a service wrote before its event's transaction would stay.

Whoever is killed between an act and its event leaves what was committed before the transaction that holds the event was
opened. So at each event that a service writes, wherever a test makes it, nothing may have been written since the
service was called and before that transaction began. `tests/matrix/test_killed.py` really kills.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from tests.test_style import ROOT, modules

# where it is watched. What hands over to Slurm and follows it (jobs) writes a claim, an intent or a picture first, by
# design; `tests/faults` kills those processes for real, though not at each of its events.
ROOMS = {"accounts", "audit", "datasets", "presets", "projects", "quotas"}
# They write first on purpose: an intent, a claim or a picture stands before what shares no transaction with it.
INTENT_FIRST = {
    "accounts.services.identify.identify": "failures are counted before the refusal is told",
    "quotas.services.applying.apply": "Slurm is told, which shares no transaction; the change asked for stands before it",
    "quotas.services.reconciling.reconcile": "Slurm is told and compared with, which shares no transaction",
    "audit.services.exports.making.work": "the pieces of an export that was asked for, and told of, before",
}
WRITES = ("INSERT", "UPDATE", "DELETE")


class Watch:
    """What one test does; `wrong` is told at its end."""

    def __init__(self) -> None:
        self.base: int | None = None  # how deep in transactions the test itself is; None: not in a test's body
        self.writes = 0
        self.entered: tuple[str, int] | None = None  # the service called from outside, and the writes before it
        self.opened: int | None = None  # writes before the outermost transaction that is open now
        self.told = False  # an event is in that transaction
        self.wrong: list[str] = []
        self.seen: set[str] = set()

    def depth(self) -> int:
        """How many transactions and savepoints are open."""
        return len(connection.savepoint_ids) + int(connection.in_atomic_block)

    @property
    def is_outside(self) -> bool:
        """In the test's body, and in no transaction of its own or of ours."""
        here = threading.current_thread() is threading.main_thread()
        return here and self.base is not None and self.depth() == self.base

    def event(self, action: str) -> None:
        """An event is about to be written."""
        if self.entered is None or self.base is None or threading.current_thread() is not threading.main_thread():
            return
        name, before = self.entered
        self.told = True
        since = self.writes if self.is_outside else self.opened
        self.seen.add(action)
        if since is not None and since > before and name not in INTENT_FIRST:
            self.wrong.append(f"{name}: {since - before} statements had written before the transaction of {action}")


WATCH = Watch()


@contextmanager
def body_of_a_test() -> Iterator[None]:
    """Around the body alone: what fixtures prepare is nobody's act."""
    WATCH.base, WATCH.wrong, WATCH.entered, WATCH.opened = WATCH.depth(), [], None, None
    try:
        yield
    finally:
        WATCH.base = None
    assert WATCH.wrong == [], f"killed there, an act would stand without its event: {WATCH.wrong}"


def install() -> None:
    """Once a run, before tests import what they call."""
    from audit import trail

    _count(CursorWrapper, "execute")
    _count(CursorWrapper, "executemany")
    _open(transaction.Atomic)
    for name in ("insert", "insert_all"):
        setattr(trail, name, _told(getattr(trail, name)))
    rooms, watched = list(_services()), dict[Any, Any]()
    for module in rooms:
        for act in _public(module):
            if act.__module__ == module.__name__:
                watched[act] = _entered(act)
    for module in rooms:  # also where a room's package offers them
        for act in _public(module):
            setattr(module, act.__name__, watched.get(act, act))


def _public(module: ModuleType) -> list[Any]:
    return [act for name, act in inspect.getmembers(module, inspect.isfunction) if not name.startswith("_")]


def _services() -> Iterator[ModuleType]:
    for path in modules():
        parts = path.relative_to(ROOT).with_suffix("").parts
        if len(parts) > 1 and parts[1] == "services":
            yield importlib.import_module(".".join(one for one in parts if one != "__init__"))


def _count(cursor: Any, name: str) -> None:
    run = getattr(cursor, name)

    @functools.wraps(run)
    def counted(self: Any, sql: Any, *more: Any, **named: Any) -> Any:
        WATCH.writes += _changes(sql)
        return run(self, sql, *more, **named)

    setattr(cursor, name, counted)


def _changes(sql: Any) -> bool:
    """Whether it writes; whom an event speaks of is written as the event is put together, and says nothing alone."""
    return isinstance(sql, str) and sql.lstrip()[:6].upper() in WRITES and '"audit_identity"' not in sql


def _open(atomic: Any) -> None:
    enter, leave = atomic.__enter__, atomic.__exit__

    @functools.wraps(enter)
    def opened(self: Any) -> Any:
        if WATCH.is_outside:
            WATCH.opened, WATCH.told = WATCH.writes, False
        return enter(self)

    @functools.wraps(leave)
    def left(self: Any, *why: Any) -> Any:
        try:
            return leave(self, *why)
        finally:
            if WATCH.is_outside and WATCH.entered and WATCH.told:
                WATCH.entered = WATCH.entered[0], WATCH.writes  # these have their event

    atomic.__enter__, atomic.__exit__ = opened, left


def _told(write: Callable[[Any], None]) -> Callable[[Any], None]:
    @functools.wraps(write)
    def told(rows: Any) -> None:
        for row in rows if isinstance(rows, list) else [rows]:
            WATCH.event(row.action)
        write(rows)

    return told


def _entered(act: Callable[..., Any]) -> Callable[..., Any]:
    name = f"{act.__module__}.{act.__name__}"

    @functools.wraps(act)
    def entered(*values: Any, **named: Any) -> Any:
        if WATCH.entered is not None or not WATCH.is_outside:
            return act(*values, **named)
        WATCH.entered = name, WATCH.writes
        try:
            return act(*values, **named)
        finally:
            WATCH.entered = None

    return entered
