"""The floor under live output: a bare ASGI hub on uvicorn, one Redis subscription fanned out to plain queues, no rights asked.

Its server runs inside the stack as the live process does, on the stack's Redis for hints.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from tests.bench.place import Place, until

CHANNEL = "bench-hub"
FOLDER = "run/live"
SOCKET = f"/srv/var/{FOLDER}/bench.sock"
URL = Path("/srv/var/secrets/redis-hints-url")
_subscribers: set[asyncio.Queue[bytes]] = set()
_pump: list[asyncio.Task[None]] = []


async def _listen() -> None:
    client = Redis.from_url(URL.read_text().strip())
    channel = client.pubsub()
    await channel.subscribe(CHANNEL)
    async for message in channel.listen():
        if message["type"] == "message":
            for queue in list(_subscribers):
                with contextlib.suppress(asyncio.QueueFull):
                    queue.put_nowait(message["data"])


async def application(scope: Any, receive: Any, send: Any) -> None:
    """What any viewer gets: each message, as it comes."""
    if scope["type"] != "websocket":
        return
    if not _pump:
        _pump.append(asyncio.create_task(_listen()))
    await receive()
    await send({"type": "websocket.accept"})
    queue: asyncio.Queue[bytes] = asyncio.Queue(4096)
    _subscribers.add(queue)

    async def pass_on() -> None:
        while True:
            await send({"type": "websocket.send", "bytes": await queue.get()})

    task = asyncio.create_task(pass_on())
    while (await receive())["type"] != "websocket.disconnect":
        pass
    _subscribers.discard(queue)
    task.cancel()


@contextlib.contextmanager
def serving(place: Place) -> Iterator[str]:
    """The path of its socket, outside."""
    options = "--ws websockets-sansio --ws-per-message-deflate false --no-access-log --lifespan off --log-level warning"
    python = "/srv/bancada/.venv/bin/python"
    line = f"cd /srv/bancada && exec {python} -m uvicorn --uds {SOCKET} {options} tests.bench.hub:application"
    server = place.popen("bancada-live", "sh", "-c", line, stdout=subprocess.DEVNULL)
    path = place.inside / FOLDER / "bench.sock"
    try:
        until(path.exists, seconds=60, what="the bare hub is served")
        yield str(path)
    finally:
        server.terminate()
        server.wait()
        path.unlink(missing_ok=True)


@contextlib.asynccontextmanager
async def publisher(place: Place) -> AsyncIterator[Redis]:
    """Whoever writes to it."""
    url = (place.var / "secrets/redis-hints-url").read_text().strip()
    client = Redis.from_url(url.replace("/srv/var", str(place.inside)))
    try:
        yield client
    finally:
        await client.aclose()
