"""Bells: wake the worker by a task's name. Each says "look again": the rows are the queue, a lost bell loses none."""

from __future__ import annotations

import threading
import time
from functools import partial

import structlog
from celery import current_app
from django.db import transaction

log = structlog.get_logger(__name__)


def ring(task: str) -> None:
    """After the commit, wake whoever runs this task; a dead broker only means it looks a little later."""
    transaction.on_commit(partial(_soon, task), robust=True)


QUIET = 0.1  # seconds between two rings of one bell: a burst rings at once, then ten times a second
_rung: dict[str, float] = {}
_pending: set[str] = set()
_hands = threading.Lock()


def _soon(task: str) -> None:
    """Ring from a thread of its own, so that a silent broker holds nobody up; the last ring is never swallowed."""
    with _hands:
        if task in _pending:
            return
        _pending.add(task)
        wait = max(0.0, _rung.get(task, 0.0) + QUIET - time.monotonic())
    timer = threading.Timer(wait, _late, [task])
    timer.daemon = True
    timer.start()


def _late(task: str) -> None:
    with _hands:
        _pending.discard(task)
        _rung[task] = time.monotonic()
    _send(task)


def _send(task: str) -> None:
    try:
        current_app.send_task(task, queue=task.split(".")[0], retry=False, ignore_result=True, expires=60)
    except Exception as error:
        log.warning("bell not heard", task=task, error=type(error).__name__)
