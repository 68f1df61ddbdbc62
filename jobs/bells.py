"""Bells and hints: wake the worker by a task's name, tell open pages to look again. Both may be lost without loss."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction

from access.bells import ring

__all__ = ["CARRY_OUT", "HAND_OVER", "LOOK_BACK", "RENEW_TICKETS", "hint", "ring"]

log = structlog.get_logger(__name__)
HAND_OVER, CARRY_OUT, RENEW_TICKETS, LOOK_BACK = (
    f"slurm.{name}" for name in ("hand_over", "carry_out", "renew_tickets", "look_back")
)


def hint(changes: Iterable[tuple[Any, int]]) -> None:
    """After the commit, tell the pages of these jobs (id, change number) to look again."""
    told = list(changes)
    if told:
        transaction.on_commit(partial(_tell, told), robust=True)


def _tell(changes: list[tuple[Any, int]]) -> None:
    layer = get_channel_layer()
    try:
        async_to_sync(_tell_all)(layer, changes)
    except Exception as error:
        log.warning("hint not sent", error=type(error).__name__)


async def _tell_all(layer: Any, changes: list[tuple[Any, int]]) -> None:
    for job_id, seq in changes:
        await layer.group_send(f"job-{job_id}", {"type": "look", "seq": seq})
