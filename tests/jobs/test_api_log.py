"""GET /jobs/{id}/log: the bytes as they are, what is known of the file beside them, and who read whose."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from audit.actions import Action
from audit.models import AuditEvent
from jobs.models import HandoverOutcome, Job, Phase
from jobs.services import reading
from logs.chunks import MAX_DATA, Chunk
from logs.client import BadTicket, ReaderDown
from tests.api import World, caller, make_world
from tests.conftest import Roles

NAMES = ("X-Log-State", "X-Log-Size", "X-Log-Offset", "X-Log-Generation", "X-Log-Age")


class FakeReader:
    """Serves one file as the log reader does, 1 MiB at a time; `trouble` is raised instead where it is set."""

    def __init__(self, data: bytes = b"", generation: str = "g1") -> None:
        self.data, self.generation, self.state = data, generation, "open"
        self.trouble: Exception | None = None
        self.asked: list[tuple[str, str, int, int]] = []

    def read(self, ticket: str, stream: str, offset: int, limit: int, *, generation: str = "") -> Chunk:
        self.asked.append((ticket, stream, offset, limit))
        assert limit <= MAX_DATA
        if self.trouble:
            raise self.trouble
        begin = max(0, len(self.data) + offset) if offset < 0 else offset
        fits = self.state == "open" and generation in ("", self.generation)
        data = self.data[begin : begin + limit] if fits else b""
        return Chunk(data, begin if fits else 0, len(self.data), self.generation, self.state, 1.5)


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeReader]:
    fake = FakeReader(b"epoch 1\r\xff\x00\x1b[31mepoch 2\n")
    monkeypatch.setattr(reading, "reader", lambda: fake)
    return fake


def test_bytes_come_as_they_are_and_are_never_a_page(world: World, roles: Roles, reader: FakeReader) -> None:
    world.accepted()
    who = caller(world.owner)
    roles.use("web")
    answer = who.get(f"/jobs/{world.job.pk}/log?offset=8&limit=5")
    assert answer.content == reader.data[8:13]
    assert [answer[name] for name in NAMES] == ["open", str(len(reader.data)), "8", "g1", "1.500"]
    assert answer["Content-Type"].startswith("text/plain")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Disposition"] == f'attachment; filename="{world.job.pk}.stdout.txt"'
    assert reader.asked == [("ticket", "stdout", 8, 5)]


def test_a_negative_offset_counts_from_the_end(world: World, roles: Roles, reader: FakeReader) -> None:
    world.accepted()
    who = caller(world.owner)
    roles.use("web")
    answer = who.get(f"/jobs/{world.job.pk}/log?offset=-8&stream=stderr")
    assert (answer.content, answer["X-Log-Offset"]) == (b"epoch 2\n", str(len(reader.data) - 8))
    assert reader.asked[0][1] == "stderr"


def test_four_mebibytes_come_in_one_answer_and_no_more(world: World, roles: Roles, reader: FakeReader) -> None:
    reader.data = b"0123456789abcdef" * (5 * 65536)
    world.accepted()
    who = caller(world.owner)
    roles.use("web")
    answer = who.get(f"/jobs/{world.job.pk}/log?offset=3&limit={reading.MOST}")
    assert answer.content == reader.data[3 : 3 + reading.MOST]
    assert who.get(f"/jobs/{world.job.pk}/log?limit={reading.MOST + 1}").status_code == 422


def test_a_file_written_anew_is_not_mixed_with_what_was_read(world: World, roles: Roles, reader: FakeReader) -> None:
    world.accepted()
    who = caller(world.owner)
    roles.use("web")
    answer = who.get(f"/jobs/{world.job.pk}/log?offset=8&generation=g0")
    assert (answer.content, answer["X-Log-Generation"], answer["X-Log-Offset"]) == (b"", "g1", "0")


@pytest.mark.parametrize(
    "query", ["offset=x", "offset=99999999999999999999", "limit=-1", "stream=script", "stream=../x"]
)
def test_a_place_that_is_none_is_named(world: World, roles: Roles, reader: FakeReader, query: str) -> None:
    world.accepted()
    who = caller(world.owner)
    roles.use("web")
    answer = who.get(f"/jobs/{world.job.pk}/log?{query}")
    assert (answer.status_code, list(answer.json()["errors"])) == (422, [query.split("=")[0]])
    assert reader.asked == []


def test_before_slurm_has_it_there_is_nothing_to_read_yet(world: World, roles: Roles, reader: FakeReader) -> None:
    who = world.caller("pi")
    roles.use("web")
    answer = who.get(f"/jobs/{world.job.pk}/log")
    assert (answer.status_code, answer.content, answer["X-Log-State"]) == (200, b"", "waiting")
    assert reader.asked == []
    assert not AuditEvent.objects.filter(action=Action.LOG_READ).exists()


def test_the_latest_accepted_hand_over_is_read(world: World, roles: Roles, reader: FakeReader) -> None:
    world.accepted("old")
    world.accepted("new", attempt=2, slurm_job_id=8)
    world.accepted("never", attempt=3, slurm_job_id=9, outcome=HandoverOutcome.ABSENT)
    who = caller(world.owner)
    roles.use("web")
    who.get(f"/jobs/{world.job.pk}/log")
    assert reader.asked[0][0] == "new"


def test_states_that_are_no_bytes(world: World, roles: Roles, reader: FakeReader) -> None:
    world.accepted(ticket="")
    who = caller(world.owner)
    path = f"/jobs/{world.job.pk}/log"
    roles.use("web")
    assert who.get(path)["X-Log-State"] == "denied"  # accepted, but its output lies where no ticket is made for
    roles.use(None)
    world.job.handovers.update(ticket="ticket")
    roles.use("web")
    for state in ("missing", "gone", "denied", "not-regular", "not-owner", "joined", "failed", "busy"):
        reader.state = state
        answer = who.get(path)
        assert (answer.status_code, answer.content, answer["X-Log-State"]) == (200, b"", state)
    reader.trouble = BadTicket("past its time")
    assert who.get(path)["X-Log-State"] == "denied"
    roles.use(None)
    Job.objects.filter(pk=world.job.pk).update(phase=Phase.REFUSED)
    world.job.handovers.update(outcome=HandoverOutcome.REFUSED)
    roles.use("web")
    assert who.get(path)["X-Log-State"] == "missing"


def test_a_reader_that_is_down_is_said_to_be(world: World, roles: Roles, reader: FakeReader) -> None:
    world.accepted()
    reader.trouble = ReaderDown("/srv/secret/path")
    who = world.caller("pi")
    roles.use("web")
    answer = who.get(f"/jobs/{world.job.pk}/log")
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert b"secret" not in answer.content
    assert not AuditEvent.objects.filter(action=Action.LOG_READ).exists()


def test_reading_anothers_output_is_recorded_once_an_hour_and_ones_own_never(
    world: World, roles: Roles, reader: FakeReader
) -> None:
    world.accepted()
    owner, pi, operator = (caller(user) for user in (world.owner, world.person("pi"), world.person("operator")))
    path = f"/jobs/{world.job.pk}/log"
    roles.use("web")
    events = AuditEvent.objects.filter(action=Action.LOG_READ)
    for _ in range(3):
        owner.get(path)
        pi.get(path)
        operator.get(path)
    assert sorted(events.values_list("actor_id", flat=True)) == sorted(
        [world.person("pi").pk, world.person("operator").pk]
    )
    event = events.first()
    assert (event.subject_id, event.project_code, event.channel) == (str(world.job.pk), "aurora", "api")
    with time_machine.travel(timezone.now() + timedelta(minutes=61)):
        pi.get(path)
    assert events.count() == 3


def test_no_bytes_where_the_reading_cannot_be_recorded(
    world: World, roles: Roles, reader: FakeReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no trail")

    world.accepted()
    pi = world.caller("pi")
    roles.use("web")
    monkeypatch.setattr("audit.trail.record", broken)
    answer = pi.get(f"/jobs/{world.job.pk}/log")
    assert answer.status_code == 500
    assert b"epoch" not in answer.content
