"""A directory for the tests of sign-in: a real slapd, started once, put back as it was after each test that changes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from accounts import activity
from accounts.directory import _PROBES
from accounts.directory.patience import TURNS
from tests.accounts import people
from tests.accounts.certificates import Authority
from tests.accounts.slapd import Slapd


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Whom the portal trusts."""
    return Authority(tmp_path_factory.mktemp("authority"), "ours", old=True)  # as directories have them for decades


@pytest.fixture(scope="session")
def server(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    """The directory with its people."""
    slapd = Slapd(tmp_path_factory.mktemp("slapd") / "good", authority.issue("server"))
    slapd.fill()
    slapd.start()
    yield slapd
    slapd.stop()


@pytest.fixture
def point_at(settings: Any, authority: Authority) -> Any:
    """Tell the portal which directory to ask."""

    def point(url: str, **more: Any) -> None:
        settings.AUTH_LDAP_SERVER_URI, settings.LDAP_CA_FILE = url, str(authority.ca)
        settings.AUTH_LDAP_START_TLS = True
        settings.AUTH_LDAP_BIND_DN, settings.AUTH_LDAP_BIND_PASSWORD = people.PORTAL, people.PORTAL_PASSWORD
        settings.LDAP_USER_BASE, settings.LDAP_GROUP_BASE = people.SUFFIX, people.GROUPS
        settings.LDAP_DEADLINE_SECONDS = 20.0  # a busy machine is no fault of the directory
        for name, value in more.items():
            setattr(settings, name, value)

    return point


@pytest.fixture
def directory(server: Slapd, point_at: Any) -> Slapd:
    """The portal asks the good directory."""
    point_at(server.url)
    return server


@pytest.fixture
def own_directory(authority: Authority, tmp_path: Path, point_at: Any) -> Iterator[Slapd]:
    """A directory of this test's own, to change, stop and pause at will."""
    slapd = Slapd(tmp_path / "own", authority.issue(f"own-{tmp_path.name}"))
    slapd.fill()
    slapd.start()
    point_at(slapd.url)
    yield slapd
    slapd.stop()


@pytest.fixture(autouse=True)
def fresh() -> None:
    """No memory of an earlier test's silence, throttle or sessions."""
    TURNS.forget()
    _PROBES.forget()
    cache.clear()
    activity._noted.clear()
