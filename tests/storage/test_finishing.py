"""An upload gets its name however long its bytes take to be read: who asks is told how far it is, the trail hears once."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Generator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from audit.models import AuditEvent
from files.answers import Refused
from files.client import Checked, Door, DoorDown, Entry
from files.names import PART
from storage.models import Upload
from storage.services import changing, finishing, pace
from tests.api import issue
from tests.logs.house import wait_until
from tests.pages import signed_in
from tests.storage.conftest import Room

ID, DATA = "ab" * 16, os.urandom(200_000)
DIGEST = hashlib.sha256(DATA).hexdigest()
STORED = finishing.Stored(len(DATA), DIGEST)
pytestmark = pytest.mark.django_db(transaction=True)


def sent(room: Room, upload: str = ID, path: str = "big") -> None:
    """All bytes are there."""
    asked: dict[str, Any] = {"project": room.project, "by": room.ana, "path": path, "upload": upload}
    changing.begin(**asked, size=len(DATA))
    changing.piece(**asked, offset=0, size=len(DATA), data=[DATA])


def finish(room: Room, upload: str = ID, path: str = "big", **more: Any) -> finishing.Stored | finishing.Checking:
    """Ask for its name."""
    return finishing.finish(
        project=room.project, by=room.ana, path=path, upload=upload, size=len(DATA), **{"patience": 0.0} | more
    )


def ended(room: Room, **more: Any) -> finishing.Stored:
    """Ask until it has it."""
    found: list[Any] = []
    wait_until(lambda: isinstance((found.append(finish(room, **more)), found[-1])[1], finishing.Stored))
    return found[-1]


def events() -> list[tuple[str, str, str | None]]:
    """What the trail knows of files."""
    rows = AuditEvent.objects.filter(action__startswith="file.").order_by("pk")
    return [(one.action, one.outcome, one.detail.get("digest") or one.detail.get("why")) for one in rows]


ONCE = [("file.changing", "done", None), ("file.uploaded", "done", DIGEST)]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """A check that is slow: it goes on as soon as this is set."""
    go, real = threading.Event(), Door.check

    def check(door: Door, *args: Any, **named: Any) -> Generator[int, None, Checked]:
        yield 0
        yield 7
        assert go.wait(30)
        return (yield from real(door, *args, **named))

    monkeypatch.setattr(Door, "check", check)
    return go


def test_who_asks_for_a_slow_one_hears_how_far_it_is_until_it_is_stored(room: Room, held: threading.Event) -> None:
    sent(room)
    assert finish(room) == finishing.Checking(0, len(DATA))
    wait_until(lambda: finish(room) == finishing.Checking(7, len(DATA)))
    assert (room.place.names(), events()) == ([PART + ID], ONCE[:1])
    held.set()
    assert ended(room) == STORED
    assert (room.folder / "big").read_bytes() == DATA
    assert finish(room) == STORED  # an answer that was lost
    assert events() == ONCE
    assert AuditEvent.objects.get(action="file.uploaded").detail["replaced"] is False


def test_a_quick_one_is_stored_at_once_and_told_again(room: Room) -> None:
    sent(room)
    assert (finish(room, patience=60.0), finish(room)) == (STORED, STORED)
    assert events() == ONCE
    assert pace.checks._held.total() == 0


def test_page_and_api_say_the_same(room: Room, held: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finishing, "PATIENCE", 0.0)
    sent(room)
    page, api = signed_in(room.ana), Client()
    bearer, body = {"Authorization": f"Bearer {issue(room.ana)}"}, {"path": "big", "size": len(DATA)}

    def by_page() -> tuple[int, Any]:
        answer = page.post(f"/projects/ipe/files/finish?path=big&id={ID}&size={len(DATA)}")
        return answer.status_code, json.loads(answer.content)

    def by_api() -> tuple[int, Any]:
        answer = api.post(f"/api/v1/projects/ipe/files/uploads/{ID}/finish", body, "application/json", headers=bearer)
        return answer.status_code, answer.json()

    assert by_page() == (202, {"status": 202, "checked": 0, "size": len(DATA)})
    assert by_api()[0] == 202 and by_api()[1]["size"] == len(DATA)
    held.set()
    wait_until(lambda: by_api() == (200, {"path": "big", "size": len(DATA), "digest": DIGEST}))
    assert by_page() == (200, {"size": len(DATA), "digest": DIGEST})
    assert events() == ONCE


def test_a_refusal_met_meanwhile_is_told_once_and_then_it_may_go(room: Room, held: threading.Event) -> None:
    sent(room)
    finish(room)
    room.place.write("big", b"here first")
    held.set()
    wait_until(lambda: Upload.objects.get().beat_at is None)
    with pytest.raises(Refused) as error:
        finish(room)
    assert error.value.answer == "exists"
    assert ended(room, overwrite=True) == STORED
    assert [one[1:] for one in events()] == [("done", None), ("failed", "exists"), ("done", None), ("done", DIGEST)]


def test_who_left_meanwhile_gets_nothing_named(room: Room, held: threading.Event) -> None:
    sent(room)
    finish(room)
    room.project.memberships.filter(user=room.ana).update(ends_at=timezone.now())
    held.set()
    wait_until(lambda: Upload.objects.get().refusal == "denied")
    assert (room.place.names(), events()[-1]) == ([PART + ID], ("file.uploaded", "failed", "denied"))


def test_a_process_that_died_is_followed_by_who_asks_next(room: Room) -> None:
    sent(room)
    now = timezone.now()
    row = Upload.objects.create(
        project=room.project, user=room.ana, name=ID, path="big", size=len(DATA), asked_at=now, beat_at=now, checked=5
    )
    assert finish(room) == finishing.Checking(5, len(DATA))  # it may still be at work
    Upload.objects.filter(pk=row.pk).update(beat_at=now - finishing.SILENT - timedelta(seconds=1))
    assert finish(room, patience=60.0) == STORED


@pytest.mark.parametrize("named", [False, True], ids=["before", "after"])
def test_a_door_that_dies_at_the_name_is_asked_again(room: Room, monkeypatch: pytest.MonkeyPatch, named: bool) -> None:
    """Before it is done or after, when only the answer is lost: no byte is read again, and it is done once."""
    real, checks = Door.finish, list[str]()

    def dies(door: Door, *args: Any, **more: Any) -> tuple[Entry, bool | None]:
        if named:
            real(door, *args, **more)
        raise DoorDown("killed")

    count(monkeypatch, checks)
    monkeypatch.setattr(Door, "finish", dies)
    sent(room)
    with pytest.raises(DoorDown):
        finish(room, patience=60.0)
    monkeypatch.setattr(Door, "finish", real)
    assert finish(room, patience=60.0) == STORED
    assert (room.place.names(), checks) == (["big"], ["check"])
    assert [one[1:] for one in events()] == [("done", None), ("failed", "no answer"), ("done", None), ("done", DIGEST)]


def count(monkeypatch: pytest.MonkeyPatch, checks: list[str]) -> None:
    """Note each check."""
    real: Callable[..., Any] = Door.check

    def check(*args: Any, **named: Any) -> Any:
        checks.append("check")
        return real(*args, **named)

    monkeypatch.setattr(Door, "check", check)


def test_what_was_written_into_it_since_is_read_anew(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = list[str]()
    count(monkeypatch, checks)
    sent(room)
    room.place.write("big", b"here first")
    with pytest.raises(Refused):
        finish(room, patience=60.0)
    (room.folder / "big").unlink()
    Upload.objects.update(stamp="1.1.1.1", digest=DIGEST)
    assert finish(room, patience=60.0) == STORED
    assert len(checks) == 2


def test_so_many_at_once_and_the_others_wait(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    sent(room)
    monkeypatch.setattr(pace.checks, "most_of_one", 0)
    assert finish(room, patience=60.0) == finishing.Checking(0, len(DATA))
    assert (events(), Upload.objects.count()) == ([], 0)
    with pytest.raises(Refused) as error:
        changing.put(project=room.project, by=room.ana, path="small", size=1, data=[b"x"])
    assert (error.value.answer, room.place.names()) == ("busy", [PART + ID])  # nothing of it stays
    monkeypatch.undo()
    assert finish(room, patience=60.0) == STORED


def test_ten_who_ask_at_once_are_told_of_one(room: Room) -> None:
    sent(room)
    answers: list[Any] = []

    def ask() -> None:
        try:
            answers.append(finish(room, patience=60.0))
        finally:
            finishing.connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(10)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert len(answers) == 10 and STORED in answers
    assert {type(one) for one in answers} <= {finishing.Stored, finishing.Checking}
    assert (finish(room), events()) == (STORED, ONCE)


def test_an_upload_is_asked_for_as_it_began(room: Room) -> None:
    sent(room)
    finish(room, patience=60.0)
    for wrong in ({"path": "other"}, {"digest": "0" * 64}, {"upload": "zz"}, {"upload": "a" * 64}, {"upload": "\0"}):
        with pytest.raises(Refused) as error:
            finish(room, **wrong)
        assert error.value.answer == "bad-request"


def test_one_that_begins_anew_under_its_name_is_another(room: Room) -> None:
    sent(room)
    finish(room, patience=60.0)
    (room.folder / "big").unlink()
    sent(room)
    assert finish(room, patience=60.0) == STORED
    assert (room.folder / "big").read_bytes() == DATA
    Upload.objects.update(asked_at=timezone.now() - timedelta(days=8))
    sent(room, "cd" * 16, "next")
    finish(room, "cd" * 16, "next", patience=60.0)
    assert [one.name for one in Upload.objects.all()] == ["cd" * 16]
