"""Sockets: the right people get hints and bytes, the others nothing, and a right that ends closes what is open."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import redis
from asgiref.sync import sync_to_async
from channels.layers import channel_layers, get_channel_layer
from channels.testing import WebsocketCommunicator
from channels_redis.core import RedisChannelLayer
from django.conf import settings
from django.db import OperationalError
from django.test import Client

from accounts.models import User
from audit.actions import Action
from audit.models import AuditEvent
from jobs import consumers
from jobs.hub import Hubs
from jobs.services import live, reading
from logs.client import Chunk, Generation
from portal import hints
from projects import services as projects
from tests.factories import make_member, make_project
from tests.jobs.conftest import Bench

pytestmark = pytest.mark.django_db(transaction=True)


class Source:
    """A reader of one growing text, held to what jobs.hub asks of logs.client.AsyncReader."""

    def __init__(self) -> None:
        self.data, self.generation, self.news = b"", "0.0.aa", asyncio.Event()
        self.tickets, self.asked_again = list[str](), asyncio.Event()

    def write(self, data: bytes) -> None:
        self.data += data
        self.news.set()

    async def follow(
        self, ticket: str, stream: str, offset: int, *, generation: str = ""
    ) -> AsyncIterator[Chunk | Generation]:
        at = max(0, len(self.data) + offset) if offset < 0 else offset
        self.tickets.append(ticket)
        if len(self.tickets) > 1:
            self.asked_again.set()
        while True:
            yield Chunk(self.data[at:], at, len(self.data), self.generation, "open", 0.0)
            at = len(self.data)
            self.news.clear()
            await self.news.wait()

    async def read(self, ticket: str, stream: str, offset: int, limit: int, *, generation: str = "") -> Chunk:
        return Chunk(self.data[offset : offset + limit], offset, len(self.data), self.generation, "open", 0.0)


class World:
    """A job with output, and sockets to it."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.job = self.bench.submit()

    def session_of(self, user: User) -> str:
        client = Client()
        client.force_login(user, backend="accounts.directory.backend.DirectoryBackend")
        session = client.session
        session["began"], session["epoch"] = time.time(), user.session_epoch
        session.save()
        return str(session.session_key)

    def socket(self, session: str, path: str = "/log", origin: str = "") -> WebsocketCommunicator:
        from portal.asgi import application

        headers = [
            (b"cookie", f"{settings.SESSION_COOKIE_NAME}={session}".encode()),
            (b"origin", (origin or settings.CSRF_TRUSTED_ORIGINS[0]).encode()),
            (b"host", b"127.0.0.1"),
        ]
        return WebsocketCommunicator(application, f"/ws/jobs/{self.job.pk}{path}", headers=headers)


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    channel_layers.backends.clear()
    made = await sync_to_async(World)()
    made.source = Source()  # type: ignore[attr-defined]
    hubs = Hubs(made.source, live.encode)  # type: ignore[attr-defined]
    monkeypatch.setattr(live, "hubs", lambda: hubs)
    monkeypatch.setattr(reading, "ticket", lambda _job, task=None: (f"a ticket {task}", "open"))
    monkeypatch.setattr(live, "line_at", lambda *_: 1)
    yield made


async def closed_with(socket: WebsocketCommunicator) -> int:
    while True:
        message = await socket.receive_output(timeout=5)
        if message["type"] == "websocket.close":
            return int(message["code"])


async def watch(socket: WebsocketCommunicator, **wish: Any) -> None:
    await socket.send_json_to({"type": "watch", "stream": "stdout", "offset": -65536} | wish)


async def test_a_member_gets_the_bytes_as_they_are_written(world: Any) -> None:
    world.source.write(b"one\n")
    socket = world.socket(await sync_to_async(world.session_of)(world.bench.user))
    assert (await socket.connect())[0]
    await watch(socket)
    got = b""
    for _ in range(6):
        frame = await socket.receive_output(timeout=5)
        if frame.get("bytes"):
            got += frame["bytes"]
            if got == b"one\n":
                world.source.write(b"two\n")
        if got == b"one\ntwo\n":
            break
    assert got == b"one\ntwo\n"
    await socket.disconnect()
    assert not await sync_to_async(AuditEvent.objects.filter(action=Action.LOG_READ).exists)()


async def test_an_address_of_no_socket_answers_as_one_that_is_not_yours(world: Any) -> None:
    socket = world.socket(await sync_to_async(world.session_of)(world.bench.user), "/nothing")
    assert (await socket.connect())[0]
    assert await closed_with(socket) == 4404


async def test_a_task_of_an_array_has_a_stream_of_its_own(world: Any) -> None:
    world.source.write(b"of a task\n")
    socket = world.socket(await sync_to_async(world.session_of)(world.bench.user), "/tasks/3/log")
    assert (await socket.connect())[0]
    await watch(socket)
    frames = [await socket.receive_output(timeout=5) for _ in range(3)]
    assert b"of a task\n" in [frame.get("bytes") for frame in frames]
    assert world.source.tickets == ["a ticket 3"]
    live.renew(world.job.pk, 10**6)  # the job has changed: the tasks' streams hear of it too
    await asyncio.wait_for(world.source.asked_again.wait(), 30)
    await socket.disconnect()


async def test_a_mate_who_reads_is_recorded(world: Any) -> None:
    mate = await sync_to_async(make_member)(world.bench.project)
    socket = world.socket(await sync_to_async(world.session_of)(mate))
    await socket.connect()
    await watch(socket)
    await socket.receive_output(timeout=5)
    await socket.disconnect()
    event = await sync_to_async(AuditEvent.objects.get)(action=Action.LOG_READ)
    assert event.actor_id == mate.pk


@pytest.mark.parametrize("path", ["", "/log", "/tasks/1/log"])
async def test_strangers_and_nobody_are_closed_alike_and_recorded(world: Any, path: str) -> None:
    stranger = await sync_to_async(lambda: make_member(make_project()))()
    for session in (await sync_to_async(world.session_of)(stranger), "", "x" * 32):
        socket = world.socket(session, path)
        await socket.connect()
        assert await closed_with(socket) == 4404
    count = await sync_to_async(AuditEvent.objects.filter(action=Action.ACCESS_REFUSED).count)()
    assert count == 1  # the stranger's


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:8000.evil.example", "null"])
async def test_another_sites_page_is_not_let_in(world: Any, origin: str) -> None:
    socket = world.socket(await sync_to_async(world.session_of)(world.bench.user), origin=origin)
    assert not (await socket.connect())[0]


async def test_who_is_removed_is_closed_at_the_hint(world: Any) -> None:
    socket = world.socket(await sync_to_async(world.session_of)(world.bench.user), "")
    await socket.connect()
    await sync_to_async(_remove)(world.bench)
    await get_channel_layer().group_send(f"user-{world.bench.user.pk}", {"type": "rights"})
    assert await closed_with(socket) == 4403


async def test_without_the_hint_it_is_noticed_by_itself(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "RECHECK", 0.1)
    socket = world.socket(await sync_to_async(world.session_of)(world.bench.user))
    await socket.connect()
    await sync_to_async(_remove)(world.bench)
    assert await closed_with(socket) == 4403


async def test_a_database_that_was_away_does_not_end_the_asking(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "RECHECK", 0.1)
    socket = world.socket(await sync_to_async(world.session_of)(world.bench.user), "")
    await socket.connect()
    may, asked = consumers.watching.may, []

    def away(*_: Any) -> Any:
        asked.append(1)
        raise OperationalError("away")

    monkeypatch.setattr(consumers.watching, "may", away)
    while len(asked) < 2:
        await asyncio.sleep(0.05)
    monkeypatch.setattr(consumers.watching, "may", may)
    await sync_to_async(_remove)(world.bench)
    assert await closed_with(socket) == 4403


def _remove(bench: Bench) -> None:
    projects.remove_member(membership=bench.user.memberships.get(), by=None)


async def test_a_hint_says_look_again(world: Any) -> None:
    socket = world.socket(await sync_to_async(world.session_of)(world.bench.user), "")
    await socket.connect()
    await asyncio.sleep(0.1)
    await get_channel_layer().group_send(f"job-{world.job.pk}", {"type": "look", "seq": 7})
    assert await socket.receive_json_from(timeout=5) == {"type": "look", "seq": 7}
    await socket.disconnect()


@pytest.mark.parametrize(
    "said", ["no json", "[]", "{}", '{"type":"watch"}', '{"type":"watch","stream":"/etc/passwd","offset":0}',
             '{"type":"watch","stream":"stdout","offset":true}', '{"type":"watch","stream":"stdout","offset":1e99}', "[" * 5000],
)  # fmt: skip
async def test_what_is_no_wish_closes(world: Any, said: str) -> None:
    socket = world.socket(await sync_to_async(world.session_of)(world.bench.user))
    await socket.connect()
    await socket.send_to(text_data=said)
    assert await closed_with(socket) == 4400


async def test_too_many_at_once_are_asked_to_wait(world: Any, settings: Any) -> None:
    settings.SOCKETS_PER_PERSON = 1
    session = await sync_to_async(world.session_of)(world.bench.user)
    first, second = world.socket(session), world.socket(session)
    await first.connect()
    await second.connect()
    assert await closed_with(second) == 4429
    await first.disconnect()


async def test_a_job_without_output_yet_says_so_and_begins_at_the_hint(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "ticket", lambda _job, _task=None: ("", "waiting"))
    socket = world.socket(await sync_to_async(world.session_of)(world.bench.user))
    await socket.connect()
    await watch(socket)
    assert json.loads(await socket.receive_from(timeout=5))["state"] == "waiting"
    monkeypatch.setattr(reading, "ticket", lambda _job, _task=None: ("a ticket", "open"))
    world.source.write(b"begun\n")
    await get_channel_layer().group_send(f"job-{world.job.pk}", {"type": "look", "seq": 1})
    frames = [await socket.receive_output(timeout=5) for _ in range(3)]
    assert any(frame.get("bytes") == b"begun\n" for frame in frames)
    await socket.disconnect()


async def test_a_socket_that_ends_by_an_error_counts_no_longer(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await sync_to_async(world.session_of)(world.bench.user)

    async def broken(_layer: object, _channel: str) -> dict[str, Any]:
        await asyncio.sleep(0.2)
        raise ConnectionError("Redis is gone")

    monkeypatch.setattr(type(get_channel_layer()), "receive", broken)
    for _ in range(3):
        socket = world.socket(session)
        await socket.connect()
        with pytest.raises(ConnectionError):
            await socket.wait(5)
    assert live._sockets[world.bench.user.pk] == 0


async def test_while_redis_is_away_sockets_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    async def receive(_layer: object, _channel: str) -> dict[str, Any]:
        nonlocal asked
        asked += 1
        if asked < 3:
            raise redis.exceptions.ConnectionError("refused")
        return {"type": "look", "seq": 4}

    monkeypatch.setattr(RedisChannelLayer, "receive", receive)
    monkeypatch.setattr(hints, "PAUSE", 0.01)
    layer = hints.PatientLayer(hosts=["redis://127.0.0.1:1"])
    assert await asyncio.wait_for(layer.receive("specific.a!b"), 5) == {"type": "look", "seq": 4} and asked == 3
