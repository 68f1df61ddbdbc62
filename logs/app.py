"""The reader's HTTP face, a plain ASGI application: /read, /follow, /download, /find, /line and /status."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from logs import following
from logs.chunks import Chunk, Event, encode
from logs.entries import Entries, Full
from logs.entry import Entry
from logs.files import LogFile
from logs.generations import same
from logs.lineindex import Budget, Place
from logs.pool import Stalled
from logs.requests import MAX_MATCHES, MAX_OFFSET, BadRequest, Request, parse
from logs.search import Found, find
from logs.tickets import BadTicket

PIECE = 256 * 1024  # bytes of a download read and sent at a time
SEARCH_SECONDS = 3.0  # one request's share; the answer says where to go on
SEARCHES = 2  # at a time: they cost CPU, followers come first

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
_BYTES = "application/octet-stream"
_STATUS = {"bad-ticket": 401, "unavailable": 503}


class Application:
    """Answers requests from the entries of one house, which it opens with the first request."""

    def __init__(self, make_house: Callable[[], Entries]) -> None:
        self._make_house = make_house
        self.searching = asyncio.Semaphore(SEARCHES)
        self._house: Entries | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        try:
            await self._answer(parse(scope), scope["method"], receive, send)
        except BadRequest as error:
            await _json(send, 400, {"error": str(error)})
        except BadTicket as error:
            await _json(send, 401, {"error": str(error)})
        except Full:
            await _json(send, 503, {"error": "all places are in use"})

    def close(self) -> None:
        """Have everybody who waits finish."""
        if self._house:
            self._house.close()

    @property
    def house(self) -> Entries:
        """The entries; made on the running loop."""
        if self._house is None:
            self._house = self._make_house()
        return self._house

    async def _answer(self, request: Request, method: str, receive: Receive, send: Send) -> None:
        if request.path == "/status":
            await _json(send, 200, self.house.counts())
            return
        handlers = {"/read": _read, "/follow": _follow, "/download": _download, "/find": _find, "/line": _line}
        handler = handlers.get(request.path)
        if handler is None or method != "GET":
            await _json(send, 404 if handler is None else 405, {"error": "there is no such thing to ask"})
            return
        async with self.house.use(request.ticket, request.stream) as entry:
            await _until_gone(receive, handler(self, entry, request, send))


async def _read(app: Application, entry: Entry, request: Request, send: Send) -> None:
    """Bytes at an offset, now or as soon as there are some."""
    offset, limit, expect, until = request.offset, request.limit, request.generation, time.monotonic() + request.wait
    with entry.watching() if request.wait else contextlib.nullcontext():
        while True:
            changed = entry.changed
            chunk = await entry.view(offset, limit, expect)
            left = until - time.monotonic()
            if chunk.data or left <= 0 or app.house.closing or _news(chunk, expect):
                break
            expect = expect or chunk.generation
            await entry.wait(changed, left)
    await _send_all(send, _STATUS.get(chunk.state, 200), _headers(chunk), chunk.data)


def _news(chunk: Chunk, expect: str) -> bool:
    """Whether there is something to say though there are no bytes."""
    return chunk.state in _STATUS or bool(chunk.state == "open" and expect and not same(expect, chunk.generation))


async def _follow(app: Application, entry: Entry, request: Request, send: Send) -> None:
    """A stream of frames until the asker hangs up."""

    async def forward(event: Event) -> None:
        await send({"type": "http.response.body", "body": encode(event), "more_body": True})

    offset, expect = request.offset, request.generation
    first = await entry.view(0, 0)
    if first.state in _STATUS:
        await _send_all(send, _STATUS[first.state], _headers(first), b"")
        return
    await _start(send, 200, _headers(first) | {"content-type": "application/x-bancada-log"})
    await following.follow(app.house, entry, offset, expect, forward)
    await send({"type": "http.response.body", "body": b""})


async def _download(app: Application, entry: Entry, request: Request, send: Send) -> None:
    """The file as long as it is now; one that is rewritten under way breaks off rather than end as a mixture."""
    begin = request.number("offset", 0, 0, MAX_OFFSET)
    chunk = await entry.view(0, 0)
    if chunk.state != "open":
        await _send_all(send, _STATUS.get(chunk.state, 404), _headers(chunk), b"")
        return
    left = max(0, chunk.size - begin)
    await _start(send, 200, _headers(chunk) | {"content-length": str(left)})
    while left:
        piece = await entry.view(begin, min(PIECE, left), chunk.generation)
        if not piece.data or not same(chunk.generation, piece.generation):
            return  # the server hangs up on a body shorter than announced
        await send({"type": "http.response.body", "body": piece.data, "more_body": True})
        begin, left = begin + len(piece.data), left - len(piece.data)
    await send({"type": "http.response.body", "body": b""})


async def _find(app: Application, entry: Entry, request: Request, send: Send) -> None:
    """Which lines hold some bytes."""
    query, fold = request.query, bool(request.number("ignore_case", 0, 0, 1))
    after, limit = request.number("after", 0, 0, MAX_OFFSET), request.number("limit", 100, 1, MAX_MATCHES)

    async def work(file: LogFile, size: int) -> Found:
        return await find(
            file, query, after=min(after, size), ignore_case=fold, limit=limit, size=size, budget=Budget(SEARCH_SECONDS)
        )

    await _search(app, entry, send, work, Found([], after, complete=False))


async def _line(app: Application, entry: Entry, request: Request, send: Send) -> None:
    """Where line n begins, or (with `at`) which line a byte stands in."""
    number, at = request.number("n", 0, 1, MAX_OFFSET), request.number("at", -1, 0, MAX_OFFSET)
    if (number > 0) == (at >= 0):
        raise BadRequest("one of n (a line, from 1) and at (a byte)")

    async def work(file: LogFile, size: int) -> Place:
        if number:
            return await file.lines.offset_of(number, size, Budget(SEARCH_SECONDS))
        return await file.lines.number_at(min(at, size), Budget(SEARCH_SECONDS))

    await _search(app, entry, send, work, Place(0, 0, complete=False))


async def _search(
    app: Application,
    entry: Entry,
    send: Send,
    work: Callable[[LogFile, int], Awaitable[Found | Place]],
    nothing: Found | Place,
) -> None:
    """Run a search over the file as long as it is now, a few at a time, and answer in JSON."""
    chunk, answer = await entry.view(0, 0), nothing
    if chunk.state == "open" and entry.file:
        try:
            async with app.searching:
                answer = await work(entry.file, chunk.size)
        except (Stalled, OSError):
            chunk = dataclasses.replace(chunk, state="failed")
    await _json(send, _STATUS.get(chunk.state, 200), dataclasses.asdict(answer), _headers(chunk))


async def _until_gone(receive: Receive, work: Coroutine[None, None, None]) -> None:
    """Do the work, unless the asker hangs up first."""
    tasks = {asyncio.create_task(work), asyncio.create_task(_gone(receive))}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _headers(chunk: Chunk) -> dict[str, str]:
    return {
        "x-log-size": str(chunk.size),
        "x-log-offset": str(chunk.offset),
        "x-log-generation": chunk.generation,
        "x-log-state": chunk.state,
        "x-log-age": f"{chunk.age:.3f}",
    }


async def _json(send: Send, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
    content = {"content-type": "application/json", **(headers or {})}
    await _send_all(send, status, content, json.dumps(body).encode())


async def _send_all(send: Send, status: int, headers: Mapping[str, str], body: bytes) -> None:
    await _start(send, status, {**headers, "content-length": str(len(body))})
    await send({"type": "http.response.body", "body": body})


async def _start(send: Send, status: int, headers: Mapping[str, str]) -> None:
    raw = [(name.encode(), value.encode()) for name, value in ({"content-type": _BYTES} | dict(headers)).items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
