"""The process's hubs of live output, and what their events look like on a socket."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections import Counter
from collections.abc import AsyncIterator
from functools import cache, lru_cache
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from django.conf import settings

from access.compiled import Fixed
from jobs.hub import Event, Hubs, Part, Skipped
from jobs.models import Job
from jobs.services import reading
from logs.client import AsyncReader, BadTicket, Chunk, Generation, ReaderDown

STREAMS = ("stdout", "stderr")
OPEN = "open"
ASK_AGAIN = 5.0  # seconds, where no hint says that the job has output now
Frame = tuple[str, dict[str, Any], bytes]  # text, the same as values, bytes that follow it
_sockets: Counter[int] = Counter()
_renewed: dict[UUID, int] = {}


@dataclasses.dataclass(frozen=True, slots=True)
class Wish:
    """What a page asks to watch."""

    stream: str
    offset: int
    generation: str


def wish(text: str | None) -> Wish | None:
    """A page's message, or None where it is none."""
    try:
        said = json.loads(text or "")
        offset, generation = said["offset"], said.get("generation") or ""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    good = said.get("type") == "watch" and said.get("stream") in STREAMS and type(offset) is int
    if not good or not isinstance(generation, str) or abs(offset) > 2**53:
        return None
    return Wish(said["stream"], offset, generation[:200])


def count_in(user_id: int) -> bool:
    """One socket more of this person, if it is not one too many."""
    _sockets[user_id] += 1
    return _sockets[user_id] <= settings.SOCKETS_PER_PERSON


def count_out(user_id: int) -> None:
    """One socket less."""
    _sockets[user_id] -= 1
    if _sockets[user_id] <= 0:
        del _sockets[user_id]


@cache
def hubs() -> Hubs[Frame]:
    """One set of hubs a process, on its one asynchronous client of the reader."""
    return Hubs(AsyncReader(settings.READER_SOCKET), encode)


def renew(job_id: UUID, change: int) -> None:
    """The job has changed: its pulls ask for the newest ticket, once a change however many are told."""
    if _renewed.get(job_id) != change:
        if len(_renewed) > 10_000:
            _renewed.clear()
        _renewed[job_id] = change
        hubs().renew(job_id)


@contextlib.asynccontextmanager
async def watch(job_id: UUID, wanted: Wish, task: int | None = None) -> AsyncIterator[AsyncIterator[Frame]]:
    """Frames of one stream from an offset on, of a job or of a task of its array; see jobs.hub."""

    async def ticket() -> str:
        return await database_sync_to_async(_ticket)(job_id, task)

    what = job_id if task is None else Part(job_id, task)
    watching = hubs().watch(what, wanted.stream, ticket, offset=wanted.offset, generation=wanted.generation)
    async with watching as frames:
        yield frames


WATCHED = Fixed(lambda pk: Job.objects.filter(pk=pk).only("phase"))


def _job(job_id: UUID) -> Job:
    job = WATCHED.first(pk=job_id)
    if job is None:
        raise BadTicket("no such job any more")
    return job


def _ticket(job_id: UUID, task: int | None = None) -> str:
    held, _state = reading.ticket(_job(job_id), task)
    if not held:
        raise BadTicket("none any more")
    return held


def state_of(job_id: UUID, task: int | None = None) -> str:
    """OPEN where there is a ticket to read with, else why there is none."""
    return reading.ticket(_job(job_id), task)[1]


def line_at(job_id: UUID, stream: str, generation: str, offset: int, task: int | None = None) -> int | None:
    """The number of the line that begins at, or holds, this byte; None where the reader cannot say.

    It stays the same while the file is the same, and after a restart all viewers ask for the same few.
    """
    if offset == 0:
        return 1
    try:
        return _line_at(job_id, stream, generation, offset, task)
    except (ReaderDown, BadTicket, ValueError):
        return None


@lru_cache(1000)
def _line_at(job_id: UUID, stream: str, _generation: str, offset: int, task: int | None) -> int:
    place = reading.reader().line_at(_ticket(job_id, task), stream, offset)
    if not place.complete:
        raise ValueError("too far to count")
    return place.line


def encode(event: Event) -> Frame:
    """An event as frames; what many viewers get is encoded once."""
    data = b""
    match event:
        case Chunk():
            told: dict[str, Any] = {
                "type": "at", "offset": event.offset, "size": event.size, "generation": event.generation,
                "state": event.state, "age": round(event.age, 1),
            }  # fmt: skip
            data = event.data
        case Generation():
            told = {"type": "generation", "generation": event.generation, "size": event.size}
        case Skipped():
            told = {"type": "skipped", "from": event.start, "to": event.stop}
    return json.dumps(told), told, data
