"""One fate for act and event, watched in every test of a service: what a service wrote before its event's transaction would stay.

Whoever is killed between an act and its event leaves what was committed before the transaction that holds the event was
opened. So at each event that a service writes, wherever a test makes it, nothing may have been written since the
service was called and before that transaction began, but for what is named below. `tests/matrix/test_killed.py` really kills.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from tests.test_style import ROOT, modules

ROOMS = {"accounts", "audit", "cluster", "datasets", "jobs", "portal", "presets", "projects", "quotas", "storage"}
# It says nothing alone: whom an event speaks of is written as the event is put together, and a pass to the files' door
# is signed by another process, so it is asked for before; who is at the end of an upload, and how far, is seen by all
# processes, while its file and the trail know nothing yet.
ALONE = {"audit_identity", "storage_filepass", "storage_upload"}
# What a service, or a service before one event, writes first on purpose: an intent, a claim or a picture, beside what
# shares no transaction with it. All else that it writes has one fate with its event.
INTENT_FIRST = {
    "accounts.services.identify.identify": {"axes_accessattempt", "axes_accesslog"},  # failures are counted first
    "audit.services.exports.making.work": {"audit_export"},  # how far an export is that was asked for, and told of
    "quotas.services.applying.apply": {"quotas_enforcement"},  # the try, before Slurm is told
    "quotas.services.reconciling.reconcile": {"quotas_enforcement"},
    "jobs.services.handing.hand_over": {"jobs_handover", "jobs_job", "quotas_enforcement"},  # a job is claimed
    "jobs.services.intents.carry_out": {"jobs_intent"},  # the try; until its event is there it is carried out again
    # the picture that Slurm shows after our act, for which the intent stands
    "jobs.services.intents.carry_out job.cancelled": {"jobs_job"},
    "jobs.services.intents.carry_out job.changed": {"jobs_job", "jobs_run"},
    "jobs.services.intents.carry_out job.requeued": {"jobs_handover"},
    # when Slurm was seen; runs, looks and use of jobs, of which no event tells, before the event of another job
    "jobs.services.following.look_at_jobs": {
        "cluster_cluster", "jobs_handover", "jobs_run", "quotas_allocation", "quotas_hold", "quotas_usage",
    },
    "jobs.services.following.look_at_jobs job.discovered": {"jobs_job"},
}  # fmt: skip
WRITES = re.compile(r'\s*(?:INSERT INTO|UPDATE|DELETE FROM)\s+"?(\w+)', re.IGNORECASE)


class Watch:
    """What one test does; `wrong` is told at its end."""

    def __init__(self) -> None:
        self.base: int | None = None  # how deep in transactions the test itself is; None: not in a test's body
        self.writes: list[str] = []  # the tables
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
        since = len(self.writes) if self.is_outside else self.opened
        self.seen.add(action)
        first = set(self.writes[before:since]) if since is not None else set()
        first -= INTENT_FIRST.get(name, set()) | INTENT_FIRST.get(f"{name} {action}", set())
        if first:
            self.wrong.append(f"{name} had written {', '.join(sorted(first))} before the transaction of {action}")


WATCH = Watch()


@contextmanager
def body_of_a_test() -> Iterator[None]:
    """Around the body alone: what fixtures prepare is nobody's act."""
    WATCH.base, WATCH.writes, WATCH.wrong, WATCH.entered, WATCH.opened = WATCH.depth(), [], [], None, None
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
        table = WRITES.match(sql) if isinstance(sql, str) else None
        if table and table[1] not in ALONE:
            WATCH.writes.append(table[1])
        return run(self, sql, *more, **named)

    setattr(cursor, name, counted)


def _open(atomic: Any) -> None:
    enter, leave = atomic.__enter__, atomic.__exit__

    @functools.wraps(enter)
    def opened(self: Any) -> Any:
        if WATCH.is_outside:
            WATCH.opened, WATCH.told = len(WATCH.writes), False
        return enter(self)

    @functools.wraps(leave)
    def left(self: Any, *why: Any) -> Any:
        try:
            return leave(self, *why)
        finally:
            if WATCH.is_outside and WATCH.entered and WATCH.told:
                WATCH.entered = WATCH.entered[0], len(WATCH.writes)  # these have their event

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
        WATCH.entered = name, len(WATCH.writes)
        try:
            return act(*values, **named)
        finally:
            WATCH.entered = None

    return entered
