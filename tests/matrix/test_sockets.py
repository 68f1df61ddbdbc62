"""Whose is what at the sockets: who may watch gets frames, everybody else the same close as for what is not there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from channels.layers import channel_layers
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.db import transaction

from jobs.hub import Hubs
from jobs.services import live, watching
from logs.client import Chunk, Generation
from tests.matrix import routes
from tests.matrix.expect import ABSENT, BESIDE, OTHER, OWN, PAGES_PEOPLE, holds
from tests.matrix.people import World
from tests.matrix.rules import SOCKETS, Rule
from tests.matrix.running import FULL

pytestmark = pytest.mark.django_db
PLACES = (OWN, BESIDE, OTHER, ABSENT) if FULL else (OWN, OTHER, ABSENT)
NOT_YOURS = [("websocket.accept", ""), ("websocket.close", "4404")]
Frames = list[tuple[str, str]]


class Outputs:
    """A log reader whose every output is the ticket it is asked with."""

    async def follow(self, ticket: str, stream: str, offset: int, **_: Any) -> AsyncIterator[Chunk | Generation]:
        yield Chunk(ticket.encode(), 0, len(ticket), "0.a", "open", 0.0)
        await asyncio.Event().wait()

    async def read(self, ticket: str, stream: str, offset: int, limit: int, **_: Any) -> Chunk:
        return Chunk(ticket.encode()[offset : offset + limit], offset, len(ticket), "0.a", "open", 0.0)


@pytest.mark.parametrize("rule", SOCKETS, ids=str)
def test_only_who_may_watch_gets_frames(
    world: World, rule: Rule, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    monkeypatch.setattr("channels.db.close_old_connections", lambda: None)  # ours holds the world
    wrong, cells = [], 0
    for person in PAGES_PEOPLE:
        for place in PLACES:
            path = "/" + rule.route.replace("<uuid:pk>", str(_job(world, person, place))).replace("<int:task>", "1")
            with transaction.atomic():
                frames = async_to_sync(_talk)(monkeypatch, path, _headers(world, person))
                transaction.set_rollback(True)
            cells += 1
            wrong += [f"{rule} · {person} · {place}: {said}" for said in _wrong(world, rule, person, place, frames)]
    record_property("cells", cells)
    record_property("leaks", len(wrong))
    assert wrong == []


def _job(world: World, person: str, place: str) -> Any:
    mine = world.mine[person].job if person in world.mine and place == OWN else None
    return mine or world.places[place].job


def _headers(world: World, person: str) -> list[tuple[bytes, bytes]]:
    said = {"origin": settings.CSRF_TRUSTED_ORIGINS[0], "host": "127.0.0.1"}
    if person == "reader":
        said["authorization"] = f"Bearer {world.mine['pi'].secrets['read']}"
    elif person != "nobody":
        said["cookie"] = f"{settings.SESSION_COOKIE_NAME}={world.mine[person].session_key}"
    return [(name.encode(), value.encode()) for name, value in said.items()]


async def _talk(patch: pytest.MonkeyPatch, path: str, headers: list[tuple[bytes, bytes]]) -> Frames:
    """All that comes: until it is closed, bytes came, or nothing more does."""
    from portal.asgi import application

    channel_layers.backends.clear()
    watching._noted.clear()
    hubs = Hubs(Outputs(), live.encode)
    patch.setattr(live, "hubs", lambda: hubs)
    socket = WebsocketCommunicator(application, path, headers=headers)
    await socket.send_input({"type": "websocket.connect"})
    frames = [await _frame(socket)]
    if path.endswith("/log"):
        await socket.send_json_to({"type": "watch", "stream": "stdout", "offset": 0})
    while frames[-1][0] not in ("websocket.close", "bytes") and not await _is_quiet(socket, path):
        frames.append(await _frame(socket))
    if frames[-1][0] != "websocket.close":
        await socket.disconnect()
    return frames


async def _is_quiet(socket: WebsocketCommunicator, path: str) -> bool:
    return bool(await socket.receive_nothing(timeout=2 if path.endswith("/log") else 0.02, interval=0.005))


async def _frame(socket: WebsocketCommunicator) -> tuple[str, str]:
    message = await socket.receive_output(timeout=5)
    if message.get("bytes"):
        return "bytes", message["bytes"].decode()
    return message["type"], str(message.get("text") or message.get("code") or "")


def _wrong(world: World, rule: Rule, person: str, place: str, frames: Frames) -> list[str]:
    known = person not in ("reader", "disabled")
    may = known and holds(person, place, rule.see) and holds(person, place, rule.act or rule.see)
    found = [f"LEAK of {word}" for word in world.canaries.leaked(person, json.dumps(frames).encode(), "")]
    if not may and frames != NOT_YOURS:
        found.append(f"{frames} instead of a close")
    if may and frames[-1][0] == "websocket.close":
        found.append(f"{frames} instead of an open socket")
    if may and rule.act and not frames[-1][1].startswith("zzoutput-"):
        found.append(f"{frames} instead of its output")
    return found


def test_every_socket_is_declared() -> None:
    assert {rule.route for rule in SOCKETS} == routes.sockets()
