"""The one service through which output is read: find, line and download, and what each leaves in the trail."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from access.errors import NotFound, Refused
from audit.actions import Action
from audit.models import AuditEvent
from jobs.services import reading
from logs.chunks import Chunk
from logs.client import BadTicket, Found, NotReadable, Place
from tests.api import World, make_world
from tests.conftest import Roles


class FakeReader:
    """Answers as the log reader does; notes which connections are held."""

    def __init__(self) -> None:
        self.trouble: Exception | None = None
        self.held = 0

    def find(self, ticket: str, stream: str, query: str, **_: object) -> Found:
        self._fail()
        return Found(((3, 42),), 50, complete=True, state="open", generation="g")

    def line(self, ticket: str, stream: str, number: int) -> Place:
        self._fail()
        return Place(number, 42, complete=True, state="open", generation="g")

    def line_at(self, ticket: str, stream: str, offset: int) -> Place:
        return Place(3, offset, complete=True, state="open", generation="g")

    @contextlib.contextmanager
    def stream_download(self, ticket: str, stream: str) -> Iterator[tuple[Chunk, Iterator[bytes]]]:
        self._fail()
        self.held += 1
        try:
            yield Chunk(b"", 0, 6, "g", "open", 1.0), iter([b"abc", b"def"])
        finally:
            self.held -= 1

    def _fail(self) -> None:
        if self.trouble:
            raise self.trouble


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> FakeReader:
    fake = FakeReader()
    monkeypatch.setattr(reading, "reader", lambda: fake)
    return fake


def test_who_may_not_read_output_does_not_get_the_job(world: World, roles: Roles) -> None:
    viewer, auditor, stranger = (world.person(name) for name in ("viewer", "auditor", "stranger"))
    roles.use("web")
    assert reading.fetch(viewer, world.job.pk) == world.job
    with pytest.raises(Refused):
        reading.fetch(auditor, world.job.pk)
    with pytest.raises(NotFound):
        reading.fetch(stranger, str(world.job.pk))
    with pytest.raises(NotFound):
        reading.fetch(viewer, "no id")


def test_finding_and_looking_up_a_line_are_reading(world: World, roles: Roles, reader: FakeReader) -> None:
    world.accepted()
    pi = world.person("pi")
    roles.use("web")
    assert reading.find(job=world.job, by=pi, stream="stdout", query="loss").matches == ((3, 42),)
    assert reading.line(job=world.job, by=pi, stream="stdout", number=7).line == 7
    assert reading.line(job=world.job, by=pi, stream="stdout", offset=9).offset == 9
    event = AuditEvent.objects.get(action=Action.LOG_READ)
    assert (event.actor_id, event.said) == (pi.pk, {"owner": world.owner.username})


def test_where_there_is_no_output_each_says_so(world: World, roles: Roles, reader: FakeReader) -> None:
    by = world.person("pi")
    roles.use("web")

    def states() -> set[str]:
        found = reading.find(job=world.job, by=by, stream="stdout", query="x")
        assert found.complete
        place = reading.line(job=world.job, by=by, stream="stdout", number=1)
        with pytest.raises(NotReadable) as none:
            reading.download(job=world.job, by=by)
        return {found.state, place.state, none.value.state, reading.tail(job=world.job, by=by).state}

    reader.read = lambda *_, **__: reader._fail()  # type: ignore[attr-defined]
    assert states() == {"waiting"}
    roles.use(None)
    world.accepted()
    roles.use("web")
    reader.trouble = BadTicket("past its time")
    assert states() == {"denied"}
    assert not AuditEvent.objects.filter(action__in=(Action.LOG_READ, Action.LOG_DOWNLOADED)).exists()


def test_every_download_is_recorded_the_owners_too_and_lets_go(world: World, roles: Roles, reader: FakeReader) -> None:
    world.accepted()
    pi = world.person("pi")
    roles.use("web")
    for by in (world.owner, pi, pi):
        whole = reading.download(job=world.job, by=by)
        assert (b"".join(whole), whole.chunk.size, reader.held) == (b"abcdef", 6, 1)
        whole.close()
        assert reader.held == 0
    events = AuditEvent.objects.filter(action=Action.LOG_DOWNLOADED)
    assert sorted(events.values_list("actor_id", flat=True)) == sorted([world.owner.pk, pi.pk, pi.pk])
    assert events.first().detail == {"stream": "stdout", "bytes": 6}


def test_a_download_that_cannot_be_recorded_is_none(
    world: World, reader: FakeReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no trail")

    world.accepted()
    monkeypatch.setattr("audit.trail.record", broken)
    with pytest.raises(RuntimeError):
        reading.download(job=world.job, by=world.owner)
    assert reader.held == 0
