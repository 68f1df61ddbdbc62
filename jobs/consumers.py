"""Sockets of a job: hints that say "look again", and its output by byte offset. Rights are asked for all along."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import structlog
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import DatabaseError, InterfaceError

from access.permissions import Permission
from jobs.services import live, watching

log = structlog.get_logger(__name__)
RECHECK = 30.0  # seconds; without Redis a right that ended closes the socket within this
NOT_UNDERSTOOD, ENDED, TOO_MANY = 4400, 4403, 4429


class Watcher(AsyncWebsocketConsumer):
    """What both sockets share: the right to watch, asked at connect, on a hint, and every half minute."""

    permission = Permission.JOB_VIEW
    watch: watching.Watch
    tasks: tuple[asyncio.Task[None], ...] = ()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """However it ends, also by an error: it does not count any more, and nothing of it goes on."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self.tasks:
                live.count_out(self.watch.user_id)
            for task in self.tasks:
                task.cancel()

    async def connect(self) -> None:
        """Let in who may watch; a denial is answered by portal.sockets."""
        self.watch = await self._ask()
        await self.accept()
        self.tasks = (asyncio.create_task(self._ask_again()),)
        if not live.count_in(self.watch.user_id):
            await self.close(TOO_MANY)
        await self._join()

    async def _join(self) -> None:
        """Hear of the job, its datasets and the person; Redis may have forgotten it since."""
        for group in self.watch.groups:
            await self._quietly(self.channel_layer.group_add(group, self.channel_name))

    async def disconnect(self, code: int) -> None:
        """Hear of nothing any more."""
        if self.tasks:
            for group in self.watch.groups:
                await self._quietly(self.channel_layer.group_discard(group, self.channel_name))

    async def look(self, event: dict[str, Any]) -> None:
        """A hint: the job has changed."""

    async def rights(self, event: dict[str, Any]) -> None:
        """A hint: membership, role, session or account has changed, or what a dataset's permission says."""
        await self._check()

    async def _ask(self) -> watching.Watch:
        pk = str(self.scope["url_route"]["kwargs"]["pk"])
        return await database_sync_to_async(watching.may)(self.scope["session_key"], pk, self.permission)

    async def _ask_again(self) -> None:
        while True:
            await asyncio.sleep(RECHECK)
            await self._check()
            await self._join()

    async def _check(self) -> None:
        """Close as soon as the right is gone; what cannot be asked now is asked again."""
        try:
            await self._ask()
        except watching.Denied:
            await self.close(ENDED)
        except (DatabaseError, InterfaceError) as error:
            log.warning("a right could not be asked for", error=type(error).__name__)

    async def _quietly(self, call: Any) -> None:
        with contextlib.suppress(Exception):  # Redis away: the half-minute check and polling remain
            await call


class JobConsumer(Watcher):
    """Tells an open job page to look again."""

    async def look(self, event: dict[str, Any]) -> None:
        """Pass the hint on."""
        await self.send(json.dumps({"type": "look", "seq": event["seq"]}))


class LogConsumer(Watcher):
    """The output of a job, or of a task of its array, by byte offset.

    The page says {"type": "watch", "stream", "offset" (negative: from the end), "generation"?}; it gets a text frame
    {"type": "at", "stream", "offset", "size", "generation", "state", "age", "line"?} before each binary frame, or
    {"type": "generation"}, {"type": "skipped", "from", "to"}, {"type": "state"}. It resumes from its own next byte.
    """

    permission = Permission.LOG_READ
    following: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Stop following, however it ends."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self.following is not None:
                self.following.cancel()

    async def connect(self) -> None:
        """As every watcher."""
        self.changed = asyncio.Event()
        self.task: int | None = self.scope["url_route"]["kwargs"].get("task")
        await super().connect()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A page that says anything but "watch" is none of ours."""
        wish = live.wish(text_data)
        if wish is None:
            await self.close(NOT_UNDERSTOOD)
            return
        if self.following is not None:
            self.following.cancel()
        self.following = asyncio.create_task(self._follow(wish))

    async def look(self, event: dict[str, Any]) -> None:
        """The job has changed: perhaps it has output now, or a new ticket."""
        self.changed.set()
        live.renew(self.watch.job_id, event["seq"])

    async def _follow(self, wish: live.Wish) -> None:
        await database_sync_to_async(watching.note)(self.scope["session_key"], self.watch)
        while True:
            state = await database_sync_to_async(live.state_of)(self.watch.job_id, self.task)
            if state == live.OPEN:
                await self._stream(wish)
                return
            await self.send(json.dumps({"type": "state", "state": state, "size": 0, "generation": "", "age": None}))
            self.changed.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.changed.wait(), live.ASK_AGAIN)

    async def _stream(self, wish: live.Wish) -> None:
        numbered = False
        async with live.watch(self.watch.job_id, wish, self.task) as frames:
            async for text, told, data in frames:
                if data and not numbered:
                    numbered = True
                    where = (self.watch.job_id, wish.stream, told["generation"], told["offset"], self.task)
                    line = await database_sync_to_async(live.line_at)(*where)
                    text = json.dumps({**told, "line": line})
                await self.send(text)
                if data:
                    await self.send(bytes_data=data)
