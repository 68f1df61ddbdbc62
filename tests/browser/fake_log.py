"""A log endpoint of a few lines for the viewer's tests: the socket, the range request and find, over a file in memory."""

from __future__ import annotations

import asyncio
import json
import mimetypes
import threading
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from django.template import engines
from django.utils import translation

PAGE = Path(__file__).with_name("log_page.html")
STATIC = Path(__file__).resolve().parents[2] / "static"
POLICY = "default-src 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"
PIECE = 65536


class FakeLog:
    """One file per stream, and knobs for what goes wrong. Times in seconds, sizes in bytes."""

    def __init__(self) -> None:
        self.files: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self.generation = "0.0.abcd"
        self.state = "open"
        self.sockets = True  # whether sockets are let in
        self.refuse = False
        self.open: set[asyncio.Event] = set()
        self.watches: list[dict[str, Any]] = []  # what clients asked for
        self.asked: list[tuple[int, int]] = []  # ranges (offset, limit)
        self.skip_over: tuple[int, int] | None = None
        self.counts_lines = True

    def write(self, text: str, stream: str = "stdout") -> None:
        """Append to the file; those who watch get it."""
        self.files[stream] += text.encode()

    def rewrite(self, text: str) -> None:
        """The file is written anew, as after a requeue."""
        self.files["stdout"] = bytearray(text.encode())
        self.generation = f"{int(self.generation.split('.')[0]) + 1}.0.ffff"

    def drop(self) -> None:
        """Cut every socket."""
        for event in list(self.open):
            event.set()

    async def app(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """The whole server."""
        if scope["type"] == "websocket":
            await self.socket(receive, send)
        elif scope["type"] == "http":
            status, headers, body = self.answer(scope["path"], parse_qs(scope["query_string"].decode()))
            named = [(name.lower().encode(), str(value).encode()) for name, value in headers.items()]
            await send({"type": "http.response.start", "status": status, "headers": named})
            await send({"type": "http.response.body", "body": body})

    def answer(self, path: str, query: dict[str, list[str]]) -> tuple[int, dict[str, object], bytes]:
        """(status, headers, body) of a request."""
        if path.startswith("/static/"):
            file = STATIC / path.removeprefix("/static/")
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            return (200, {"Content-Type": kind}, file.read_bytes()) if file.is_file() else (404, {}, b"")
        if path == "/log/find":
            return 200, {"Content-Type": "application/json"}, json.dumps(self.find(query)).encode()
        if path == "/log":
            return self.range(query)
        return 200, {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": POLICY}, page(path).encode()

    def range(self, query: dict[str, list[str]]) -> tuple[int, dict[str, object], bytes]:
        """Bytes at an offset, with what is known of the file."""
        if self.refuse:
            return 404, {}, b""
        data = self.files[query["stream"][0]]
        offset, limit = int(query["offset"][0]), int(query["limit"][0])
        self.asked.append((offset, limit))
        start = max(0, len(data) + offset) if offset < 0 else offset
        headers = self.about(query["stream"][0], start)
        return (
            200,
            {f"X-Log-{name.title()}": value for name, value in headers.items()},
            bytes(data[start : start + limit]),
        )

    def about(self, stream: str, start: int) -> dict[str, object]:
        """What is known of the file, as both doors tell it."""
        data = self.files[stream]
        known: dict[str, object] = {
            "size": len(data), "offset": start, "generation": self.generation, "state": self.state, "age": 2,
        }  # fmt: skip
        return known | {"line": data.count(b"\n", 0, start) + 1} if self.counts_lines else known

    def find(self, query: dict[str, list[str]]) -> dict[str, Any]:
        """Lines that hold a text."""
        lines = self.files[query["stream"][0]].split(b"\n")
        offset, found = 0, []
        for number, line in enumerate(lines, 1):
            if query["q"][0].lower().encode() in line.lower():
                found.append({"line": number, "offset": offset})
            offset += len(line) + 1
        return {"matches": found[:1000], "count": len(found), "capped": len(found) > 1000}

    async def socket(self, receive: Any, send: Any) -> None:
        """One viewer: a watch, then pieces until it goes or is dropped."""
        await receive()
        if not self.sockets:
            await send({"type": "websocket.close", "code": 1013})
            return
        await send({"type": "websocket.accept"})
        gone = asyncio.Event()
        self.open.add(gone)
        watch = json.loads((await receive())["text"])
        self.watches.append(watch)
        listener = asyncio.create_task(self.listen(receive, gone))
        try:
            await self.push(watch, send, gone)
        finally:
            listener.cancel()
            self.open.discard(gone)

    async def listen(self, receive: Any, gone: asyncio.Event) -> None:
        """Notice when the viewer leaves."""
        while (await receive())["type"] != "websocket.disconnect":
            pass
        gone.set()

    async def push(self, watch: dict[str, Any], send: Any, gone: asyncio.Event) -> None:
        """Send what is new, each piece after a word about where it stands."""
        stream, offset = watch["stream"], watch["offset"]
        at = max(0, len(self.files[stream]) + offset) if offset < 0 else offset
        generation, told = self.generation, ""
        while not gone.is_set():
            if generation != self.generation:
                generation, at = self.generation, 0
                await say(send, {"type": "generation", "generation": generation})
            if self.skip_over and at == self.skip_over[0]:
                await say(send, {"type": "skipped", "from": at, "to": self.skip_over[1]})
                at, self.skip_over = self.skip_over[1], None
            piece = bytes(self.files[stream][at : at + PIECE])
            if piece or self.state != told:
                told = self.state
                await say(send, {"type": "at", "stream": stream, **self.about(stream, at)})
            if piece:
                await send({"type": "websocket.send", "bytes": piece})
            at += len(piece)
            if len(piece) < PIECE:
                await asyncio.sleep(0.02)
        await send({"type": "websocket.close", "code": 1012})


async def say(send: Any, message: dict[str, Any]) -> None:
    """A text frame."""
    await send({"type": "websocket.send", "text": json.dumps(message)})


def page(path: str) -> str:
    """The real fragment of the job page on a page of its own; the path says what is special: two, nosocket, over."""
    socket = "" if "nosocket" in path else "/ws/log"
    context = {"socket": socket, "url": "/log", "download": "/log", "separate": "two" in path, "over": "over" in path}
    with translation.override("en"):
        return engines["django"].from_string(PAGE.read_text()).render(context)


class Serving:
    """The fake in a thread of its own, on a port of the system's choice."""

    def __init__(self) -> None:
        self.log = FakeLog()
        config = uvicorn.Config(
            self.log.app, host="127.0.0.1", port=0, log_level="error", lifespan="off", interface="asgi3"
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    def __enter__(self) -> Serving:
        self.thread.start()
        while not self.server.started:
            pass
        return self

    def __exit__(self, *_: object) -> None:
        self.log.drop()
        self.server.should_exit = True
        self.thread.join(10)

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"
