"""One measurement a day of each project's folder, and the growth told from them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.utils import timezone

from accounts.lookup import DirectoryDown
from files.client import Census, Share
from files.client import Room as Space
from jobs.services import growing, people
from storage.models import Measure
from storage.services import growth
from tests.api import caller
from tests.factories import make_project
from tests.files.door import ANA, BETO
from tests.pages import signed_in
from tests.storage.conftest import Room

PAGE, EN = "/projects/ipe/files/storage", {"Accept-Language": "en"}


def census(*shares: tuple[int, int], cut: bool = False) -> Census:
    return Census([Share(uid, 1, size, 0) for uid, size in shares], cut, [], Space(1, 2, 3))


def kept(room: Room, days_ago: int, found: Census | None) -> None:
    """As it was measured so many days ago."""
    growth.keep(room.project, found)
    at = timezone.now() - timedelta(days=days_ago)
    Measure.objects.filter(project=room.project, day=timezone.now().date()).update(day=at.date(), at=at)


def test_each_project_is_measured_once_a_day(room: Room) -> None:
    room.place.write("anas", b"x" * 5000, mode=0o664)
    room.place.write("betos", b"y" * 2000, uid=BETO, mode=0o664)
    assert growing.measure_one()
    rows = {row.uid: row.bytes for row in Measure.objects.filter(project=room.project)}
    assert set(rows) >= {None, ANA, BETO} and rows[None] == sum(size for uid, size in rows.items() if uid and size)
    assert not growing.measure_one()  # today is done
    Measure.objects.update(day=timezone.now().date() - timedelta(days=1))
    assert growing.measure_one() and Measure.objects.filter(uid=None).count() == 2


def test_what_cannot_be_measured_is_not_zero_and_does_not_stop_the_next(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def may_not(*_: object) -> people.Identity:
        raise people.MayNot("The person is no longer a member who may do this.")

    monkeypatch.setattr(people, "identity", may_not)
    make_project("zweites")  # with nobody in it
    assert growing.measure_one() and growing.measure_one() and not growing.measure_one()
    assert list(Measure.objects.values_list("bytes", flat=True)) == [None, None]
    assert growth.of(room.project) is None


def test_without_a_directory_or_a_key_nothing_is_written(
    room: Room, monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    def down(*_: object) -> people.Identity:
        raise DirectoryDown("away")

    monkeypatch.setattr(people, "identity", down)
    assert not growing.measure_one()
    settings.TICKET_KEY_FILE = ""
    assert not growing.measure_one() and not Measure.objects.exists()


def test_growth_is_of_a_week_or_of_what_there_is(room: Room) -> None:
    kept(room, 9, census((ANA, 100)))
    assert growth.of(room.project) is None
    kept(room, 3, census((ANA, 1000), (BETO, 500)))
    found = growth.of(room.project)
    assert found is not None and (found.more, found.by_uid) == (1400, {ANA: 900, BETO: 500})
    kept(room, 1, None)  # a day without one
    kept(room, 0, census((ANA, 700), (BETO, 900), cut=False))
    found = growth.of(room.project)
    assert found is not None and found.since == timezone.now().date() - timedelta(days=3)
    assert (found.more, found.fastest) == (100, (BETO, 400)) and found.is_more
    kept(room, 0, census((ANA, 1)))
    smaller = growth.of(room.project)
    assert smaller is not None and not smaller.is_more and smaller.fewer == 1499 and smaller.fastest is None


def test_what_was_cut_is_not_compared_and_what_is_old_goes(room: Room) -> None:
    kept(room, 500, census((ANA, 1)))
    kept(room, 2, census((ANA, 5), cut=True))
    kept(room, 0, census((ANA, 9)))
    assert growth.of(room.project) is None
    growth.keep(room.project, census((ANA, 9)))
    assert Measure.objects.filter(day__lt=timezone.now().date() - growth.KEPT).count() == 0


def test_the_page_says_since_when_how_much_and_who(room: Room) -> None:
    room.place.write("betos", b"z" * 900, uid=BETO, mode=0o664)
    client = signed_in(room.ana)
    assert "Measured once a day" not in client.get(PAGE, headers=EN).content.decode()
    kept(room, 7, census((ANA, 1000)))
    kept(room, 0, census((ANA, 1000), (BETO, 2048)))
    text = " ".join(client.get(PAGE, headers=EN).content.decode().split())
    assert "2.0 KB more than on" in text and f"belongs to {room.beto.name}: 2.0 KB" in text
    assert "Measured once a day, last" in text


def test_the_api_tells_it(room: Room) -> None:
    api = caller(room.ana)
    assert api.get("/projects/ipe/files/growth").json() == {"growth": None}
    kept(room, 5, census((ANA, 1000), (BETO, 10)))
    kept(room, 0, census((ANA, 900), (BETO, 2048), (99999, 5)))
    told = api.get("/projects/ipe/files/growth").json()["growth"]
    assert told["bytes"] == 1943 and told["since"] == str(timezone.now().date() - timedelta(days=5))
    assert [(one["login"], one["bytes"]) for one in told["people"]] == [
        (room.beto.username, 2038), (None, 5), (room.ana.username, -100),
    ]  # fmt: skip
