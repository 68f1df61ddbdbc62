"""The world of the matrix, built once for all of it and left as it was by every cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction

from accounts import admission, lookup, pace
from jobs.services import reading
from logs.chunks import Chunk
from logs.client import Found, Place
from portal import readiness
from storage.services import passes
from tests.matrix.people import World
from tests.storage.fake_door import FakeDoor


class Outputs:
    """A log reader whose every output is the ticket it is asked with."""

    def read(self, ticket: str, _stream: str, _offset: int, _limit: int, **_: Any) -> Chunk:
        return Chunk(ticket.encode(), 0, len(ticket), "0.a", "open", 1.0)

    def find(self, _ticket: str, _stream: str, _query: str, **_: Any) -> Found:
        return Found(((1, 0),), 0, complete=True, state="open", generation="0.a")

    def line_at(self, _ticket: str, _stream: str, _offset: int) -> Place:
        return Place(1, 0, complete=True, state="open", generation="0.a")

    def stream_download(self, ticket: str, _stream: str) -> Any:
        import contextlib

        return contextlib.nullcontext((self.read(ticket, "", 0, 0), iter([ticket.encode()])))


def stand_in(world: World, patch: pytest.MonkeyPatch) -> None:
    """In the place of what is beside the portal."""
    patch.setattr(reading, "reader", Outputs)
    patch.setattr(passes, "door", FakeDoor)
    patch.setattr(lookup, "search", lambda _words: [])
    patch.setattr(admission, "person_by_id", lambda _key: world.newcomer)
    patch.setattr(pace, "check", lambda by: None)
    patch.setattr(readiness, "look_at_all", lambda _checks: {})


@pytest.fixture(scope="package")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """All in one transaction, as the role of the web process, and never kept."""
    patch = pytest.MonkeyPatch()
    with django_db_blocker.unblock(), transaction.atomic():
        made = World()
        stand_in(made, patch)
        with connection.cursor() as cursor:
            cursor.execute("SET ROLE web")
        yield made
        with connection.cursor() as cursor:
            cursor.execute("RESET ROLE")
        transaction.set_rollback(True)
    patch.undo()
    connection.close()
