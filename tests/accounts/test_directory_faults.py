"""The directory down, silent, or not who it says it is: no password leaves, nobody is counted, and the answer is quick."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.test import Client
from django.urls import reverse

from accounts import lookup
from accounts.directory import patience, reachable
from accounts.directory.conversation import conversation
from accounts.directory.errors import DirectoryDown
from accounts.models import User
from audit.actions import Action
from audit.models import AuditEvent
from tests.accounts import people
from tests.accounts.certificates import Authority
from tests.accounts.slapd import Slapd
from tests.clock import within

QUICK = 5.0  # seconds for the whole answer
Make = Callable[..., Slapd]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Servers that are stopped at the end."""
    started: list[Slapd] = []

    def start(certificate: Any) -> Slapd:
        slapd = Slapd(tmp_path / f"s{len(started)}", certificate)
        slapd.start()
        started.append(slapd)
        return slapd

    yield start
    for slapd in started:
        slapd.stop()


def kinds(authority: Authority, folder: Path) -> dict[str, Any]:
    """A certificate of each bad kind, and none at all."""
    return {
        "expired": authority.issue("expired", starts=-30, ends=-1),
        "not yet valid": authority.issue("future", starts=1, ends=30),
        "another host": authority.issue("elsewhere", host="127.0.0.9"),
        "another authority": Authority(folder, "theirs").issue("foreign"),
        "no TLS at all": None,
    }


@pytest.mark.parametrize("kind", ["expired", "not yet valid", "another host", "another authority", "no TLS at all"])
@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
def test_a_server_that_cannot_prove_who_it_is_gets_no_password(
    make: Make, authority: Authority, tmp_path: Path, point_at: Any, kind: str, scheme: str
) -> None:
    slapd = make(kinds(authority, tmp_path)[kind])
    point_at(slapd.url if scheme == "ldap" else slapd.ldaps)
    with pytest.raises(DirectoryDown):
        reachable(deadline=4)
    assert slapd.binds() == []


def test_ldaps_works(server: Slapd, point_at: Any) -> None:
    point_at(server.ldaps)
    with conversation() as talk:
        assert talk.search(people.PEOPLE, "(uid=ana)", ["uid"])


def test_plain_ldap_is_never_spoken(server: Slapd, point_at: Any) -> None:
    before = len(server.binds())
    point_at(server.url, AUTH_LDAP_START_TLS=False)
    with pytest.raises(DirectoryDown, match="not encrypted"):
        reachable(deadline=4)
    assert len(server.binds()) == before


def test_a_refused_certificate_is_named(make: Make, authority: Authority, point_at: Any) -> None:
    point_at(make(authority.issue("old", starts=-30, ends=-1)).url)
    with pytest.raises(DirectoryDown, match="certificate has expired"):
        reachable(deadline=4)


@contextmanager
def mute(answer: bytes = b"") -> Iterator[int]:
    """A port where somebody accepts, perhaps says one thing, and then nothing."""
    kept: list[socket.socket] = []

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                link, _peer = listener.accept()
            except OSError:
                return
            kept.append(link)
            if answer and link.recv(1000):
                link.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]
        for link in kept:
            link.close()


START_TLS_DONE = bytes.fromhex("300c02010178070a010004000400")


@pytest.mark.contract
@pytest.mark.parametrize(
    ("scheme", "answer"), [("ldap", b""), ("ldap", START_TLS_DONE), ("ldaps", b""), ("ldaps", b"\x16\x03\x03\x00\x40")]
)
def test_silence_at_any_point_of_the_handshake_ends_in_time(point_at: Any, scheme: str, answer: bytes) -> None:
    with mute(answer) as port:
        point_at(f"{scheme}://127.0.0.1:{port}")

        def ask() -> None:
            with pytest.raises(DirectoryDown):
                reachable(deadline=1.5)

        within(2.5, ask)


@pytest.mark.contract
def test_a_hung_first_server_leaves_time_for_the_second(server: Slapd, point_at: Any) -> None:
    with mute() as port:
        point_at(f"ldap://127.0.0.1:{port} {server.url}", LDAP_DEADLINE_SECONDS=4.0)

        def ask() -> None:
            with conversation() as talk:
                assert talk.search(people.PEOPLE, "(uid=ana)", ["uid"])

        within(QUICK, ask)


@pytest.mark.contract
@pytest.mark.django_db
@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
def test_a_stopped_directory_is_said_so_in_time_and_counts_nothing(
    client: Client, own_directory: Slapd, point_at: Any, scheme: str
) -> None:
    point_at(own_directory.url if scheme == "ldap" else own_directory.ldaps, LDAP_DEADLINE_SECONDS=4.0)
    inside = Client()
    _enter(inside, "ana")
    with own_directory.paused():
        began = time.monotonic()
        answer = _enter(client, "bruno")
        assert time.monotonic() - began < 15  # the deadline of four seconds and much load
        again = within(1, lambda: _enter(client, "bruno"))  # nobody waits twice for the same silence
        assert again.status_code == 503
        assert inside.get(reverse("accounts:preferences")).status_code == 200
    assert answer.status_code == 503 and answer["Retry-After"]
    assert not AccessAttempt.objects.exists() and User.objects.count() == 1
    told = AuditEvent.objects.get(action=Action.SIGN_IN_REFUSED)
    assert told.outcome == "failed" and told.detail["reason"] == "the directory cannot be reached"
    patience.TURNS.forget()
    assert _enter(client, "bruno").status_code == 302


@pytest.mark.django_db
def test_a_directory_that_is_not_there(client: Client, point_at: Any) -> None:
    point_at("ldap://127.0.0.1:9")
    assert _enter(client, "ana").status_code == 503
    assert not AccessAttempt.objects.exists()
    with pytest.raises(DirectoryDown):
        lookup.directory_entry("ana")


@pytest.mark.django_db
def test_groups_that_cannot_be_read_admit_nobody(client: Client, own_directory: Slapd, settings: Any) -> None:
    _enter(client, "hugo")
    settings.LDAP_GROUP_BASE = "ou=moved,dc=unit,dc=example"
    assert _enter(Client(), "hugo").status_code == 503
    assert User.objects.get().site_role == "auditor"


@pytest.mark.contract
def test_many_at_once_do_not_all_wait(point_at: Any) -> None:
    with mute() as port:
        point_at(f"ldap://127.0.0.1:{port}", LDAP_DEADLINE_SECONDS=2.0)
        took: list[float] = []

        def one() -> None:
            began = time.monotonic()
            with pytest.raises(DirectoryDown):
                lookup.directory_entry("ana")
            took.append(time.monotonic() - began)

        threads = [threading.Thread(target=one) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(took) == 40 and sum(seconds > 1.5 for seconds in took) <= patience.AT_ONCE


def _enter(client: Client, user: str) -> Any:
    return client.post(reverse("accounts:sign_in"), {"username": user, "password": people.password(user)})
