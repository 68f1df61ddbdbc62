"""The channel layer of hints: while Redis is away sockets stay open and hear nothing; what they show goes on coming."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import structlog
from channels_redis.core import RedisChannelLayer
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)
PAUSE = 1.0  # seconds, with jitter, until Redis is asked again


class PatientLayer(RedisChannelLayer):
    """The library's own would end every socket, and two hundred viewers would come back to be ended again."""

    async def receive(self, channel: str) -> dict[str, Any]:
        """The next hint; waits as long as Redis takes to come back."""
        while True:
            try:
                return dict(await super().receive(channel))
            except (RedisError, OSError) as error:
                log.info("no hints", error=type(error).__name__)
                await asyncio.sleep(PAUSE * random.uniform(0.5, 1.5))  # noqa: S311 - spreads, hides nothing
