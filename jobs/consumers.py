"""Sockets of a job: hints that say "look again", and its output by byte offset. Rights are asked for all along."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from access.permissions import Permission
from jobs.services import watching

RECHECK = 30.0  # seconds; without Redis a right that ended closes the socket within this
ENDED, GONE, TOO_MANY = 4403, 4404, 4429


class Watcher(AsyncWebsocketConsumer):
    """What both sockets share: the right to watch, asked at connect, on a hint, and every half minute."""

    permission = Permission.JOB_VIEW
    watch: watching.Watch

    async def connect(self) -> None:
        """Let in who may watch; a denial is answered by portal.sockets."""
        self.watch = await self._ask()
        await self.accept()
        self.tasks = [asyncio.create_task(self._ask_again())]
        for group in (f"job-{self.watch.job_id}", f"user-{self.watch.user_id}"):
            await self._quietly(self.channel_layer.group_add(group, self.channel_name))

    async def disconnect(self, code: int) -> None:
        """Leave nothing behind."""
        for task in getattr(self, "tasks", []):
            task.cancel()
        if hasattr(self, "watch"):
            for group in (f"job-{self.watch.job_id}", f"user-{self.watch.user_id}"):
                await self._quietly(self.channel_layer.group_discard(group, self.channel_name))

    async def look(self, event: dict[str, Any]) -> None:
        """A hint: the job has changed."""

    async def rights(self, event: dict[str, Any]) -> None:
        """A hint: membership, role, session or account has changed."""
        await self._check()

    async def _ask(self) -> watching.Watch:
        pk = str(self.scope["url_route"]["kwargs"]["pk"])
        return await database_sync_to_async(watching.may)(self.scope["session_key"], pk, self.permission)

    async def _ask_again(self) -> None:
        while True:
            await asyncio.sleep(RECHECK)
            await self._check()

    async def _check(self) -> None:
        """Close as soon as the right is gone; what cannot be asked now is asked again."""
        try:
            await self._ask()
        except watching.Denied:
            await self.close(ENDED)

    async def _quietly(self, call: Any) -> None:
        with contextlib.suppress(Exception):  # Redis away: the half-minute check and polling remain
            await call


class JobConsumer(Watcher):
    """Tells an open job page to look again."""

    async def look(self, event: dict[str, Any]) -> None:
        """Pass the hint on."""
        await self.send(json.dumps({"type": "look", "seq": event["seq"]}))
