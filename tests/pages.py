"""A browser of somebody who has signed in, and a directory of a few people for pages that search it."""

from __future__ import annotations

import dataclasses
import time
from uuid import UUID

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client

from access.ids import uuid7
from accounts import admission, lookup, pace
from accounts.directory.entries import Entry
from accounts.directory.errors import DirectoryDown, Reason, Rejected
from accounts.models import User
from accounts.services.sessions import BACKEND
from tests.factories import make_user


def signed_in(user: User | None) -> Client:
    """A browser of this person; the session holds what sign-in puts into it, written at once."""
    client = Client()
    if user is not None:
        session = SessionStore()
        session[SESSION_KEY], session[BACKEND_SESSION_KEY] = str(user.pk), BACKEND
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session["began"], session["epoch"] = time.time(), user.session_epoch
        session.save()
        client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    return client


@dataclasses.dataclass
class Directory:
    """People of a directory that is not there: `down` makes it silent."""

    people: dict[UUID, Entry] = dataclasses.field(default_factory=dict)
    down: bool = False

    def add(self, login: str, *, name: str = "", locked: bool = False, known: bool = False) -> UUID:
        """Somebody; `known` has signed in before."""
        key = uuid7()
        self.people[key] = Entry(
            key, login, name=name or f"{login.title()} Demo", mail=f"{login}@x.example", locked=locked
        )
        if known:
            make_user(login, directory_id=key)
        return key

    def search(self, words: str) -> list[Entry]:
        """As accounts.lookup.search."""
        if self.down:
            raise DirectoryDown("silent")
        if len(words.strip()) < lookup.SHORTEST:
            raise lookup.TooShort(words)
        return [one for one in self.people.values() if words in one.username or words in one.name]

    def person_by_id(self, key: UUID) -> User:
        """As accounts.admission.person_by_id."""
        if self.down:
            raise DirectoryDown("silent")
        entry = self.people.get(key)
        if entry is None or entry.locked:
            raise Rejected(Reason.UNKNOWN if entry is None else Reason.LOCKED)
        return User.objects.filter(directory_id=key).first() or make_user(entry.username, directory_id=key)


@pytest.fixture
def directory(monkeypatch: pytest.MonkeyPatch) -> Directory:
    """The portal asks this one."""
    made = Directory()
    monkeypatch.setattr(lookup, "search", made.search)
    monkeypatch.setattr(admission, "person_by_id", made.person_by_id)
    monkeypatch.setattr(pace, "check", lambda by: None)
    return made
