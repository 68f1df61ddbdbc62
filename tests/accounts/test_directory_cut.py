"""The directory's answer cut off at any byte of a comparison: no person is closed, marked or refreshed by half of it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from django.db import transaction
from django.utils import timezone

from access.roles import SiteRole
from accounts.admission import person_by_login
from accounts.directory import sync
from accounts.directory.patience import TURNS
from accounts.models import User
from audit.models import AuditEvent
from tests.accounts import people
from tests.accounts.slapd import Slapd
from tests.conftest import Roles

pytestmark = pytest.mark.django_db
EVERYBODY = ("ana", "bruno", "carla", "elisa", "felipe", "gabi", "hugo")


class Wire:
    """A port before the directory that lets so many bytes of its answers through (None: all), then is cut."""

    def __init__(self, port: int) -> None:
        self.port, self.passed = port, 0
        self.most: int | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        return f"ldap://127.0.0.1:{self._listener.getsockname()[1]}"

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _peer = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port))
                self.passed = 0
                for one, other, counted in ((near, far, False), (far, near, True)):
                    threading.Thread(target=self._pass, args=(one, other, counted), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, counted: bool) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                left = len(data) if self.most is None or not counted else max(0, self.most - self.passed)
                self.passed += len(data[:left]) if counted else 0
                other.sendall(data[:left])
                if left < len(data):
                    break
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def wire(own_directory: Slapd, point_at: Any, roles: Roles) -> Iterator[Wire]:
    """Everybody has a row, one may act, so that groups are read too; from here on as the worker, through the wire."""
    for user in EVERYBODY:
        person_by_login(user)
    User.objects.filter(username="bruno").update(site_role=SiteRole.AUDITOR)
    made = Wire(own_directory.plain)
    point_at(made.url, LDAP_DEADLINE_SECONDS=20.0)
    roles.use("work")
    yield made
    made.close()


def rows() -> list[dict[str, Any]]:
    return list(User.objects.order_by("pk").values())


def measured(wire: Wire) -> int:
    """Bytes of a whole answer; what it changed is taken back."""
    with transaction.atomic():
        assert sync.run().missing == 1
        transaction.set_rollback(True)
    return wire.passed


def test_half_an_answer_changes_nobody_wherever_it_ends(own_directory: Slapd, wire: Wire) -> None:
    own_directory.delete(f"uid=ana,{people.PEOPLE}")
    own_directory.change(f"uid=felipe,{people.PEOPLE}", mail="another@unit.example")
    whole = measured(wire)
    before, events = rows(), AuditEvent.objects.count()
    for part in range(1, 20):
        TURNS.forget()
        wire.most = whole * part // 20
        with time_machine.travel(timezone.now().timestamp() + 120 * part):  # said twice would be believed
            assert sync.run() == sync.Outcomes(), f"{wire.most} of {whole} bytes"
        assert rows() == before and AuditEvent.objects.count() == events
    TURNS.forget()
    wire.most = None
    assert (sync.run().missing, User.objects.get(username="felipe").email) == (1, "another@unit.example")
