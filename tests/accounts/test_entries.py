"""Entries as Active Directory, 389 Directory Server and FreeIPA write them; recorded values, no server."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import ldap
import pytest

from access.roles import SiteRole
from accounts.directory import groups
from accounts.directory.entries import Entry, Unusable, entry_of, id_filter
from accounts.directory.errors import NotAdmitted, Reason
from accounts.directory.policy import reason_of
from portal.settings import _groups

GUID = bytes.fromhex("f9ae3b1c6a2d4f4e9b1d2c3d4e5f6071")
ID = uuid.UUID("1c3baef9-2d6a-4e4f-9b1d-2c3d4e5f6071")
DN = "CN=Ana Demo,OU=Staff,DC=unit,DC=example"


@pytest.fixture
def active_directory(settings: Any) -> None:
    """As docs/directory.md sets it."""
    settings.LDAP_ID_ATTRIBUTE, settings.LDAP_LOGIN_ATTRIBUTE = "objectGUID", "sAMAccountName"
    settings.LDAP_NAME_ATTRIBUTE, settings.LDAP_NESTED_RULE = "displayName", "in-chain"
    settings.LDAP_GROUP_BASE = "DC=unit,DC=example"


def recorded(**more: bytes) -> dict[str, list[bytes]]:
    """An entry of Active Directory, attribute names folded as a conversation folds them."""
    plain = {
        "objectguid": GUID,
        "samaccountname": b"Ana",
        "displayname": "Ana Demônstração".encode(),
        "mail": b"ana@unit.example",
        "uidnumber": b"20001",
        "gidnumber": b"20001",
        "useraccountcontrol": b"512",
        "accountexpires": b"9223372036854775807",
        "lockouttime": b"0",
    }
    return {name: [value] for name, value in {**plain, **more}.items()}


def ticks(moment: datetime) -> bytes:
    """Hundreds of nanoseconds since 1601."""
    return str(int((moment - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10_000_000).encode()


@pytest.mark.usefixtures("active_directory")
class TestActiveDirectory:
    """objectGUID, sAMAccountName, userAccountControl, the matching rule, the sub-codes of error 49."""

    def test_an_entry(self) -> None:
        entry = entry_of(DN, recorded())
        assert (entry.directory_id, entry.username, entry.name) == (ID, "Ana", "Ana Demônstração")
        assert (entry.uid_number, entry.locked, entry.locked_for_a_while) == (20001, False, False)

    def test_the_id_is_found_again(self) -> None:
        assert id_filter(ID) == "(objectGUID=" + "".join(f"\\{byte:02x}" for byte in GUID) + ")"

    @pytest.mark.parametrize(
        ("more", "locked"),
        [
            ({"useraccountcontrol": b"514"}, True),
            ({"useraccountcontrol": b"66048"}, False),
            ({"accountexpires": b"0"}, False),
            ({"accountexpires": ticks(datetime(2020, 1, 1, tzinfo=UTC))}, True),
            ({"accountexpires": ticks(datetime(2120, 1, 1, tzinfo=UTC))}, False),
            ({"accountexpires": b"9" * 19}, False),
        ],
    )
    def test_disabled_or_past_its_end(self, more: dict[str, bytes], locked: bool) -> None:
        assert entry_of(DN, recorded(**more)).locked is locked

    def test_locked_for_a_while(self) -> None:
        assert entry_of(DN, recorded(lockouttime=ticks(datetime(2026, 1, 1, tzinfo=UTC)))).locked_for_a_while

    def test_without_a_uid_number_one_may_still_look(self) -> None:
        found = recorded()
        del found["uidnumber"]
        assert entry_of(DN, found).uid_number is None

    @pytest.mark.parametrize(("name", "value"), [("objectguid", b"short"), ("samaccountname", b"  ")])
    def test_an_entry_that_names_nobody(self, name: str, value: bytes) -> None:
        with pytest.raises(Unusable):
            entry_of(DN, recorded(**{name: value}))

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            ("52e", Reason.WRONG_PASSWORD),
            ("525", Reason.UNKNOWN),
            ("530", Reason.NOT_ADMITTED),
            ("532", Reason.EXPIRED),
            ("533", Reason.DISABLED),
            ("701", Reason.DISABLED),
            ("775", Reason.LOCKED),
        ],
    )
    def test_why_a_password_was_refused(self, data: str, reason: Reason) -> None:
        assert reason_of(refused(data)) is reason

    def test_a_right_password_that_must_be_changed(self) -> None:
        with pytest.raises(NotAdmitted) as error:
            reason_of(refused("773"))
        assert error.value.reason is Reason.MUST_CHANGE

    def test_the_directory_follows_nested_groups_itself(self) -> None:
        talk = Recorded()
        person = Entry(ID, "Ana", dn="CN=Ana (Demo)*,OU=Staff,DC=unit,DC=example")
        assert groups.site_role(talk, person) == SiteRole.OPERATOR  # type: ignore[arg-type]
        chain = talk.asked[-1]
        assert "(member:1.2.840.113556.1.4.1941:=CN=Ana \\28Demo\\29\\2a,OU=Staff,DC=unit,DC=example)" in chain
        assert "(distinguishedName=cn=bancada-operators,ou=groups,dc=unit,dc=example)" in chain


def refused(data: str) -> ldap.INVALID_CREDENTIALS:
    """Error 49 as Active Directory words it."""
    info = f"80090308: LdapErr: DSID-0C090439, comment: AcceptSecurityContext error, data {data}, v4563"
    return ldap.INVALID_CREDENTIALS({"result": 49, "desc": "Invalid credentials", "info": info})


class Recorded:
    """A conversation with recorded answers: the operators' group exists, and the person is in it through others."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def search(self, base: str, filter_text: str, attributes: list[str]) -> list[tuple[str, dict[str, list[bytes]]]]:
        self.asked.append(filter_text)
        return [("CN=bancada-operators,OU=Groups,DC=unit,DC=example", {"cn": [b"bancada-operators"]})]


def test_389_directory_server(settings: Any) -> None:
    settings.LDAP_ID_ATTRIBUTE = "nsUniqueId"
    found = {"nsuniqueid": [b"1c3baef9-2d6a4e4f-9b1d2c3d-4e5f6071"], "uid": [b"ana"], "nsaccountlock": [b"TRUE"]}
    entry = entry_of("uid=ana,dc=unit,dc=example", found)
    assert (entry.directory_id, entry.locked) == (ID, True)
    assert id_filter(ID) == "(nsUniqueId=1c3baef9-2d6a4e4f-9b1d2c3d-4e5f6071)"


def test_of_several_logins_the_one_that_names_the_entry() -> None:
    found = {"entryuuid": [str(ID).encode()], "uid": [b"aaa", b"ana", b"zzz"]}
    assert entry_of("uid=ana,dc=unit,dc=example", found).username == "ana"
    assert entry_of("cn=Ana,dc=unit,dc=example", found).username == "aaa"


@pytest.mark.parametrize("value", [b"-5", b"1e3", "٣".encode(), b"9" * 40, b""])
def test_a_uid_number_is_digits(value: bytes) -> None:
    found = {"entryuuid": [str(ID).encode()], "uid": [b"ana"], "uidnumber": [value], "mail": [b"no address"]}
    entry = entry_of("uid=ana,dc=unit,dc=example", found)
    assert entry.uid_number is None and entry.mail == ""


def test_names_that_are_not_utf_8_are_kept_readable() -> None:
    found = {"entryuuid": [str(ID).encode()], "uid": [b"ana"], "cn": [b"Jo\xe3o\x00" + b"x" * 400]}
    name = entry_of("uid=ana,dc=unit,dc=example", found).name
    assert name.startswith("Jo�o�") and len(name) == 200


def test_groups_as_names_and_as_dns() -> None:
    assert _groups("hpc-admins, night-shift") == ["hpc-admins", "night-shift"]
    assert _groups("cn=a,dc=b; cn=c,dc=d;") == ["cn=a,dc=b", "cn=c,dc=d"]
    assert _groups("cn=a,dc=b") == ["cn=a,dc=b"] and _groups("") == []
