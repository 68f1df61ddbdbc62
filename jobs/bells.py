"""Bells and hints: wake the worker by a task's name, tell open pages to look again. Both may be lost without loss."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

import structlog
from asgiref.sync import async_to_sync
from celery import current_app
from channels.layers import get_channel_layer
from django.db import transaction

log = structlog.get_logger(__name__)
HAND_OVER, CARRY_OUT, RENEW_TICKETS = (f"slurm.{name}" for name in ("hand_over", "carry_out", "renew_tickets"))


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


def hint(changes: Iterable[tuple[Any, int]]) -> None:
    """After the commit, tell the pages of these jobs (id, change number) to look again."""
    told = list(changes)
    if told:
        transaction.on_commit(partial(_tell, told), robust=True)


def _send(task: str) -> None:
    try:
        current_app.send_task(task, queue=task.split(".")[0], retry=False, ignore_result=True, expires=60)
    except Exception as error:
        log.warning("bell not heard", task=task, error=type(error).__name__)


def _tell(changes: list[tuple[Any, int]]) -> None:
    layer = get_channel_layer()
    try:
        async_to_sync(_tell_all)(layer, changes)
    except Exception as error:
        log.warning("hint not sent", error=type(error).__name__)


async def _tell_all(layer: Any, changes: list[tuple[Any, int]]) -> None:
    for job_id, seq in changes:
        await layer.group_send(f"job-{job_id}", {"type": "look", "seq": seq})
