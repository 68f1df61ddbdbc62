"""Searching the directory for people: bounded, escaped, by login, name or mail; who is chosen is admitted by their id."""

from __future__ import annotations

import pytest
from django.core.cache import cache

from access.ids import uuid7
from access.roles import SiteRole
from accounts import admission, lookup, pace
from accounts.directory import find
from accounts.directory.errors import DirectoryDown, Reason, Rejected
from accounts.models import User
from tests.accounts import people
from tests.accounts.slapd import Slapd
from tests.factories import make_user


@pytest.fixture(autouse=True)
def searches_afresh() -> None:
    lookup._SEARCHES.forget()


def logins(words: str) -> list[str]:
    return [one.username for one in lookup.search(words)]


@pytest.mark.parametrize("words", ["bru", "runo", "Bruno Demo", "demo bruno", "bruno@unit", "BRUNO"])
def test_found_by_a_part_of_login_name_or_mail(directory: Slapd, words: str) -> None:
    assert logins(words) == ["bruno"]


@pytest.mark.parametrize(
    "words", ["a*a", "(uid=*)", "bruno)(uid=*", "a\\2a", "br\x00uno\x00zz", "\ud800zz", "zz" * 300]
)
def test_what_is_typed_is_never_a_filter(directory: Slapd, words: str) -> None:
    assert logins(words) == []


@pytest.mark.parametrize("words", ["", " ", "a", "* *", "\x00\x00", "b."])
def test_less_than_two_letters_finds_nobody(directory: Slapd, words: str) -> None:
    with pytest.raises(lookup.TooShort):
        lookup.search(words)


def test_who_is_locked_is_found_and_marked(directory: Slapd) -> None:
    assert [(one.username, one.locked) for one in lookup.search("davi")] == [("davi", True)]


def test_never_more_than_twenty(own_directory: Slapd) -> None:
    for n in range(30):
        own_directory.add(people.entry(f"many{n:02}", number=30_000 + n))
    found = lookup.search("many")
    assert len(found) == find.MOST_FOUND == 20
    assert len({one.directory_id for one in found}) == 20


def test_a_silent_directory_is_told_apart_from_nobody(own_directory: Slapd) -> None:
    own_directory.stop()
    with pytest.raises(DirectoryDown):
        lookup.search("bruno")


@pytest.mark.django_db
def test_who_never_signed_in_gets_a_row_with_the_role_of_their_groups(directory: Slapd) -> None:
    (gabi,) = lookup.search("gabi")
    user = admission.person_by_id(gabi.directory_id)
    assert (user.username, user.site_role, user.directory_id) == ("gabi", SiteRole.OPERATOR, gabi.directory_id)
    assert not user.has_usable_password()
    assert admission.person_by_id(gabi.directory_id).pk == user.pk


@pytest.mark.django_db
def test_the_id_counts_and_not_the_login_somebody_else_has_by_now(directory: Slapd) -> None:
    (bruno,) = lookup.search("bruno")
    before = make_user("bruno", directory_id=uuid7(), uid_number=999_999)
    user = admission.person_by_id(bruno.directory_id)
    before.refresh_from_db()
    assert user.pk != before.pk and user.username == "bruno"
    assert before.username != "bruno" and not before.is_active


@pytest.mark.django_db
@pytest.mark.parametrize(("login", "reason"), [("davi", Reason.LOCKED), ("", Reason.UNKNOWN)])
def test_nobody_and_whoever_is_locked_cannot_be_chosen(directory: Slapd, login: str, reason: Reason) -> None:
    key = lookup.search(login)[0].directory_id if login else uuid7()
    with pytest.raises(Rejected) as told:
        admission.person_by_id(key)
    assert told.value.reason is reason
    assert not User.objects.exists()


@pytest.mark.django_db
def test_one_person_searches_so_often_and_another_still_may() -> None:
    cache.clear()
    first, second = make_user(), make_user()
    for _ in range(pace.MOST):
        pace.check(by=first)
    with pytest.raises(pace.TooManySearches) as told:
        pace.check(by=first)
    assert 0 < told.value.wait <= pace.WINDOW
    pace.check(by=second)
