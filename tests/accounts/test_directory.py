"""A conversation with a real slapd: who is found, what the policy says, whom the groups make what."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from access.roles import SiteRole
from accounts.directory import find, groups, reachable
from accounts.directory.conversation import conversation
from accounts.directory.errors import DirectoryDown, NotAdmitted, Reason, Rejected
from accounts.lookup import directory_entry
from tests.accounts import people
from tests.accounts.slapd import Slapd

FULL_WIDTH = "".join(chr(ord(letter) + 0xFEE0) for letter in "ana")


@pytest.mark.parametrize("typed", ["ana", "ANA", FULL_WIDTH, "ana\u00a0"])
def test_however_it_is_typed_it_is_the_same_entry(directory: Slapd, typed: str) -> None:
    with conversation() as talk:
        entry, plain = find.by_login(talk, typed), find.by_login(talk, "ana")
        assert find.by_id(talk, entry.directory_id) == entry == plain
    assert (entry.username, entry.uid_number, entry.gid_number) == ("ana", people.uid("ana"), people.uid("ana"))
    assert (entry.name, entry.mail) == ("Ana Demo", "ana@unit.example")


@pytest.mark.parametrize(
    "typed",
    ["*", "a*", "ana)(uid=*", "ana)(|(uid=*", "\\61na", "*)(objectClass=*", "ana))%00", "(", "nobody", "&", "é"],
)
def test_nothing_typed_becomes_a_filter(directory: Slapd, typed: str) -> None:
    with conversation() as talk, pytest.raises(Rejected) as refused:
        find.by_login(talk, typed)
    assert refused.value.reason is Reason.UNKNOWN


def test_two_people_of_one_login_are_nobody(directory: Slapd) -> None:
    with conversation() as talk, pytest.raises(Rejected) as refused:
        find.by_login(talk, "iara")
    assert refused.value.reason is Reason.AMBIGUOUS
    assert directory_entry("iara") is None


def test_an_id_the_directory_does_not_have_is_no_error(directory: Slapd) -> None:
    with conversation() as talk:
        assert find.by_id(talk, uuid.uuid4()) is None


@pytest.mark.parametrize(
    ("user", "reason"),
    [("carla", Reason.MUST_CHANGE), ("felipe", Reason.GRACE)],
)
def test_a_right_password_that_must_be_changed_admits_nobody(directory: Slapd, user: str, reason: Reason) -> None:
    with conversation() as talk, pytest.raises(NotAdmitted) as refused:
        talk.check_password(find.by_login(talk, user).dn, people.password(user))
    assert refused.value.reason is reason


@pytest.mark.parametrize(
    ("user", "password", "reason"),
    [
        ("ana", "wrong", Reason.WRONG_PASSWORD),
        ("davi", people.password("davi"), Reason.WRONG_PASSWORD),  # slapd does not say: the entry does
        ("elisa", people.password("elisa"), Reason.EXPIRED),
        ("carla", "wrong", Reason.WRONG_PASSWORD),
    ],
)
def test_a_refused_password(directory: Slapd, user: str, password: str, reason: Reason) -> None:
    with conversation() as talk, pytest.raises(Rejected) as refused:
        talk.check_password(find.by_login(talk, user).dn, password)
    assert refused.value.reason is reason


def test_after_a_persons_password_the_portal_searches_as_itself(directory: Slapd) -> None:
    with conversation() as talk:
        talk.check_password(find.by_login(talk, "ana").dn, people.password("ana"))
        assert find.by_login(talk, "bruno").username == "bruno"


def test_locked_is_read_from_the_entry(directory: Slapd) -> None:
    davi, ana = directory_entry("davi"), directory_entry("ana")
    assert davi and davi.locked and ana and not ana.locked


@pytest.mark.parametrize(
    ("user", "role"),
    [("ana", SiteRole.NONE), ("gabi", SiteRole.OPERATOR), ("hugo", SiteRole.AUDITOR)],
)
def test_groups_within_groups_and_in_a_circle(directory: Slapd, user: str, role: SiteRole) -> None:
    with conversation() as talk:
        assert groups.site_role(talk, find.by_login(talk, user)) == role


def test_groups_by_dn_and_not_nested(directory: Slapd, settings: Any) -> None:
    settings.LDAP_OPERATOR_GROUPS = [f"CN=night-shift, {people.GROUPS}"]
    settings.LDAP_NESTED_GROUPS = False
    with conversation() as talk:
        gabi = find.by_login(talk, "gabi")
        assert groups.site_role(talk, gabi) == SiteRole.OPERATOR
        settings.LDAP_OPERATOR_GROUPS = ["bancada-operators"]
        assert groups.site_role(talk, gabi) == SiteRole.NONE


def _second_operators(directory: Slapd) -> None:
    """A group of the operators' name, where somebody else may make groups."""
    directory.add(
        {
            "dn": f"cn=bancada-operators,{people.GUESTS}",
            "objectClass": "groupOfNames",
            "cn": "bancada-operators",
            "member": f"uid=ana,{people.PEOPLE}",
        }
    )


def test_a_group_elsewhere_brings_nobody_a_role(own_directory: Slapd) -> None:
    _second_operators(own_directory)
    with conversation() as talk:
        assert groups.site_role(talk, find.by_login(talk, "ana")) == SiteRole.NONE
        assert groups.site_role(talk, find.by_login(talk, "gabi")) == SiteRole.OPERATOR


def test_a_name_that_two_groups_share_brings_nobody_a_role(own_directory: Slapd, settings: Any) -> None:
    settings.LDAP_GROUP_BASE = people.SUFFIX
    _second_operators(own_directory)
    with conversation() as talk:
        assert groups.site_role(talk, find.by_login(talk, "ana")) == SiteRole.NONE
        assert groups.site_role(talk, find.by_login(talk, "gabi")) == SiteRole.NONE
        assert groups.site_role(talk, find.by_login(talk, "hugo")) == SiteRole.AUDITOR


def test_a_base_that_is_not_there_is_no_empty_answer(directory: Slapd, settings: Any) -> None:
    settings.LDAP_USER_BASE = f"ou=moved,{people.SUFFIX}"
    with pytest.raises(DirectoryDown):
        directory_entry("ana")


def test_the_portals_own_password_is_wrong(directory: Slapd, settings: Any) -> None:
    settings.AUTH_LDAP_BIND_PASSWORD = "not-this"
    with pytest.raises(DirectoryDown, match="own bind"):
        reachable(deadline=2)


def test_reachable(directory: Slapd) -> None:
    reachable(deadline=2)
