"""The door's short-lived child: becomes the person for good, then answers questions on one connection until it ends."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from typing import Any

from files import changing, counting, looking, taring, unpacking, uploading
from files.answers import Refused
from files.beneath import Root
from files.names import BadName
from files.tickets import Ticket
from files.wire import ANSWER, CHANGES, QUESTION, REFUSAL, BadPacket, Channel, Gone, pack, question
from logs.owner import Refusal, become

CPU_SECONDS, MOST_CPU = 900, 24 * 3600  # the second: as far as the check of a large upload may raise the first
MEMORY = 1024 * 1024 * 1024
Act = Callable[[Channel, Root, int, dict[str, Any]], None]
ACTS: dict[str, Act] = {
    "list": looking.send_list,
    "stat": looking.send_status,
    "read": looking.send_bytes,
    "tar": taring.send_tar,
    "walk": looking.send_walk,
    "space": looking.send_space,
    "census": counting.send_census,
    "make": changing.make,
    "rename": changing.rename,
    "delete": changing.delete,
    "begin": uploading.begin,
    "piece": uploading.take_piece,
    "check": uploading.check,
    "finish": uploading.finish,
    "abandon": uploading.abandon,
    "unpack": unpacking.unpack,
}


def serve(channel: Channel, ticket: Ticket) -> None:
    """Answer until the other end hangs up, is silent, or says what is no packet of ours."""
    try:
        _bound()
        become(ticket.uid, ticket.user)
        os.umask(0o007)
        root = Root(ticket.root)
    except Refusal as refusal:
        channel.send(REFUSAL, pack({"answer": refusal.answer if refusal.answer in ("denied", "failed") else "failed"}))
        return
    except Refused as refused:
        channel.send(REFUSAL, pack({"answer": refused.answer}))
        return
    channel.send(ANSWER, pack({}))
    try:
        while True:
            answer(channel, root, ticket)
    except Gone:
        return
    except BadPacket:
        channel.send(REFUSAL, pack({"answer": "bad-request"}))


def answer(channel: Channel, root: Root, ticket: Ticket) -> None:
    """One question. Raises Gone, and BadPacket after which nothing more can be said."""
    operation, asked = question(bytes(channel.expect(QUESTION)))
    try:
        if time.time() > ticket.not_after:
            raise Refused("bad-ticket")
        if operation in CHANGES and not ticket.may_write:
            raise Refused("read-only")
        ACTS[operation](channel, root, ticket.uid, asked)
    except Refused as refused:
        channel.send(REFUSAL, pack({"answer": refused.answer, **refused.facts}))
    except BadName:
        channel.send(REFUSAL, pack({"answer": "bad-name"}))
    except (OSError, MemoryError, RecursionError):
        channel.send(REFUSAL, pack({"answer": "failed"}))


def _bound() -> None:
    """Whatever lies in the folder, it costs so much and no more."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, MOST_CPU))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))
