"""How the portal asks the log reader: a plain client for pages and the API, an asynchronous one for the live hub."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx

from logs.chunks import BadFrame, Chunk, End, Frames, Generation
from logs.tickets import BadTicket

__all__ = ["AsyncReader", "BadTicket", "Chunk", "Found", "Generation", "Place", "Reader", "ReaderDown"]

SILENCE = 40.0  # seconds without even a beat (every 15) after which a follower believes the reader dead
PIECE = 64 * 1024
_BASE = "http://logs"


class ReaderDown(Exception):
    """The log reader or the opener behind it gives no answer; nothing is known about the file. Try again."""


class NotReadable(Exception):
    """There is no file to download; `state` says why (missing, denied, ...)."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What a search found: (line, byte offset of the line's first hit). Not `complete`: ask again after `next`."""

    matches: tuple[tuple[int, int], ...]
    next: int
    complete: bool
    state: str
    generation: str


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A line (from 1) and a byte offset that belong together. Not `complete`: a file too long to count at once."""

    line: int
    offset: int
    complete: bool
    state: str
    generation: str


class Reader:
    """Asks over the reader's Unix socket, one kept-alive connection pool for a process. Every method may raise
    ReaderDown and BadTicket; `stream` is "stdout" or "stderr", offsets and sizes are bytes."""

    def __init__(self, socket: Path | str, *, timeout: float = 10.0) -> None:
        self._client = httpx.Client(
            transport=httpx.HTTPTransport(uds=str(socket), limits=_LIMITS), base_url=_BASE, timeout=timeout
        )

    def read(self, ticket: str, stream: str, offset: int, limit: int, *, wait: int = 0, generation: str = "") -> Chunk:
        """Up to `limit` (1 MiB at most) bytes at `offset`, waiting up to `wait` seconds for a first one.

        With `generation`, as an earlier answer gave it, a file written anew gives no bytes, offset 0 and its new name.
        """
        values = {"stream": stream, "offset": offset, "limit": limit, "wait": wait, "generation": generation}
        return _chunk(self._get("/read", ticket, values, slack=wait))

    def tail(self, ticket: str, stream: str, limit: int) -> Chunk:
        """The last `limit` bytes."""
        return self.read(ticket, stream, -limit, limit)

    def find(
        self,
        ticket: str,
        stream: str,
        query: str | bytes,
        *,
        after: int = 0,
        ignore_case: bool = False,
        limit: int = 100,
    ) -> Found:
        """Lines that hold `query` (no line end in it) from byte `after` on; case is folded for ASCII letters."""
        raw = query.encode() if isinstance(query, str) else query
        values = {"stream": stream, "q": raw, "after": after, "ignore_case": int(ignore_case), "limit": limit}
        answer = self._get("/find", ticket, values)
        body = answer.json()
        matches = tuple((line, offset) for line, offset in body["matches"])
        return Found(matches, body["next"], body["complete"], *_state(answer))

    def line(self, ticket: str, stream: str, number: int) -> Place:
        """Where line `number` (from 1) begins; past the end: the last line."""
        return _place(self._get("/line", ticket, {"stream": stream, "n": number}))

    def line_at(self, ticket: str, stream: str, offset: int) -> Place:
        """Which line the byte at `offset` stands in."""
        return _place(self._get("/line", ticket, {"stream": stream, "at": offset}))

    @contextlib.contextmanager
    def stream_download(self, ticket: str, stream: str, *, offset: int = 0) -> Iterator[tuple[Chunk, Iterator[bytes]]]:
        """The file as long as it is now: (what is known of it, its bytes piece by piece). Raises NotReadable.

        A file rewritten under way breaks off with ReaderDown instead of ending as a mixture of both.
        """
        with _translated():
            request = self._request("/download", ticket, {"stream": stream, "offset": offset})
            answer = self._client.send(request, stream=True)
            try:
                _check(answer)
                if answer.status_code == httpx.codes.NOT_FOUND:
                    raise NotReadable(answer.headers["x-log-state"])
                yield _chunk(answer, data=b""), answer.iter_raw(PIECE)
            finally:
                answer.close()

    def status(self) -> dict[str, int]:
        """The reader's own counters."""
        body: dict[str, int] = self._get("/status", "", {}).json()
        return body

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _get(self, path: str, ticket: str, values: Mapping[str, Any], *, slack: float = 0) -> httpx.Response:
        with _translated():
            request = self._request(path, ticket, values)
            request.extensions["timeout"]["read"] += slack
            try:
                answer = self._client.send(request)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                answer = self._client.send(request)  # a kept connection that a restarted reader no longer knows
        _check(answer)
        return answer

    def _request(self, path: str, ticket: str, values: Mapping[str, Any]) -> httpx.Request:
        return self._client.build_request("GET", _url(path, values), headers=_header(ticket))


class AsyncReader:
    """The asynchronous face, for the live hub; the same errors."""

    def __init__(self, socket: Path | str, *, timeout: float = 10.0) -> None:
        self._client = httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=str(socket), limits=_UNLIMITED), base_url=_BASE, timeout=timeout
        )

    async def read(
        self, ticket: str, stream: str, offset: int, limit: int, *, wait: int = 0, generation: str = ""
    ) -> Chunk:
        """As Reader.read."""
        values = {"stream": stream, "offset": offset, "limit": limit, "wait": wait, "generation": generation}
        with _translated():
            answer = await self._client.get(
                _url("/read", values), headers=_header(ticket), timeout=httpx.Timeout(10.0, read=10.0 + wait)
            )
        _check(answer)
        return _chunk(answer)

    async def follow(
        self, ticket: str, stream: str, offset: int, *, generation: str = ""
    ) -> AsyncGenerator[Chunk | Generation, None]:
        """Chunks from `offset` on (negative: from the end) for as long as it is iterated.

        The first comes at once and says where it begins. A Generation says that the file was written anew and that
        the next chunk starts at 0. A chunk without data tells a new state, or just that all is well.
        Raises ReaderDown when the stream ends, BadTicket when the ticket does not count any more.
        """
        values = {"stream": stream, "offset": offset, "generation": generation}
        request = self._client.build_request(
            "GET", _url("/follow", values), headers=_header(ticket), timeout=httpx.Timeout(10.0, read=SILENCE)
        )
        with _translated():
            answer = await self._client.send(request, stream=True)
            try:
                _check(answer)
                frames = Frames()
                async for piece in answer.aiter_raw():
                    for event in frames.feed(piece):
                        if isinstance(event, End):
                            raise BadTicket(event.reason)
                        yield event
            finally:
                await answer.aclose()
        raise ReaderDown("the reader ended the stream")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


_LIMITS = httpx.Limits(max_connections=32, max_keepalive_connections=8)
_UNLIMITED = httpx.Limits(max_connections=None, max_keepalive_connections=8)


def _header(ticket: str) -> dict[str, str]:
    if not ticket.isascii() or not ticket.isprintable():
        raise BadTicket("not a ticket")
    return {"x-log-ticket": ticket}


def _url(path: str, values: Mapping[str, Any]) -> httpx.URL:
    """With the query as exact bytes: httpx would encode text only."""
    return httpx.URL(path, query=urlencode(values).encode())


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Transport trouble of any kind is ReaderDown."""
    try:
        yield
    except (httpx.TransportError, BadFrame) as error:
        raise ReaderDown(f"{type(error).__name__}: {error}") from error


def _check(answer: httpx.Response) -> None:
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        raise BadTicket("the reader or the opener refused it")
    if answer.status_code == httpx.codes.BAD_REQUEST:
        raise ValueError("the reader refused a parameter")
    if answer.status_code not in (httpx.codes.OK, httpx.codes.NOT_FOUND):
        raise ReaderDown(f"the reader answered {answer.status_code}")


def _chunk(answer: httpx.Response, *, data: bytes | None = None) -> Chunk:
    headers = answer.headers
    return Chunk(
        data=answer.content if data is None else data,
        offset=int(headers["x-log-offset"]),
        size=int(headers["x-log-size"]),
        generation=headers["x-log-generation"],
        state=headers["x-log-state"],
        age=float(headers["x-log-age"]),
    )


def _place(answer: httpx.Response) -> Place:
    body = answer.json()
    return Place(body["line"], body["offset"], body["complete"], *_state(answer))


def _state(answer: httpx.Response) -> tuple[str, str]:
    return answer.headers["x-log-state"], answer.headers["x-log-generation"]
