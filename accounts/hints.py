"""Telling a person's open pages and sockets that their rights may have changed; a lost hint costs half a minute."""

from __future__ import annotations

from functools import partial

import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction

log = structlog.get_logger(__name__)


def rights_changed(user_id: int) -> None:
    """After the commit, have everything of this person that is open look whether it may stay so."""
    transaction.on_commit(partial(_send, f"user-{user_id}"), robust=True)


def dataset_changed(code: str) -> None:
    """After the commit, the same for whoever watches a job on this dataset, whatever lets them."""
    transaction.on_commit(partial(_send, f"dataset-{code}"), robust=True)


def _send(group: str) -> None:
    try:
        async_to_sync(get_channel_layer().group_send)(group, {"type": "rights"})
    except Exception as error:
        log.warning("hint not sent", error=type(error).__name__)
