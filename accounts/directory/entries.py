"""A person's entry as the portal reads it, from OpenLDAP (entryUUID) or Active Directory (objectGUID)."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import ldap.dn
from django.conf import settings

from access.numbers import whole

Attributes = Mapping[str, list[bytes]]  # by lower-case name

FOREVER = "000001010000Z"  # pwdAccountLockedTime: until an administrator unlocks
ACCOUNT_DISABLED = 0x2  # userAccountControl
NEVER = {0, 0x7FFFFFFFFFFFFFFF}  # accountExpires
STATE_ATTRIBUTES = (
    "pwdAccountLockedTime",
    "pwdReset",
    "nsAccountLock",
    "userAccountControl",
    "accountExpires",
    "lockoutTime",
)


class Unusable(ValueError):
    """The entry has no id or no login."""


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One person. `locked`: by an administrator or past its end date, not by a few wrong passwords."""

    directory_id: uuid.UUID
    username: str
    uid_number: int | None = None
    gid_number: int | None = None
    locked: bool = False
    dn: str = ""
    name: str = ""
    mail: str = ""
    locked_for_a_while: bool = False
    must_change: bool = False


def wanted_attributes() -> list[str]:
    """What to ask for; operational attributes come only when named."""
    named = (settings.LDAP_ID_ATTRIBUTE, settings.LDAP_LOGIN_ATTRIBUTE, settings.LDAP_NAME_ATTRIBUTE)
    return [*named, "mail", "uidNumber", "gidNumber", *STATE_ATTRIBUTES]


def entry_of(dn: str, found: Attributes) -> Entry:
    """Raises Unusable."""
    locked_at = _text(found, "pwdAccountLockedTime")
    return Entry(
        directory_id=_id(found),
        username=_login(dn, found),
        dn=dn,
        name=_text(found, settings.LDAP_NAME_ATTRIBUTE)[:200],
        mail=_mail(found),
        uid_number=_number(found, "uidNumber"),
        gid_number=_number(found, "gidNumber"),
        locked=locked_at == FOREVER or _closed(found),
        locked_for_a_while=bool(locked_at and locked_at != FOREVER) or _number(found, "lockoutTime") not in (None, 0),
        must_change=_text(found, "pwdReset") == "TRUE",
    )


def id_filter(directory_id: uuid.UUID) -> str:
    """A filter part that finds the entry of this id."""
    name = settings.LDAP_ID_ATTRIBUTE
    if name.lower() == "objectguid":
        return "({}={})".format(name, "".join(f"\\{byte:02x}" for byte in directory_id.bytes_le))
    if name.lower() == "nsuniqueid":  # 389 Directory Server writes four groups of eight
        digits = directory_id.hex
        return f"({name}={'-'.join(digits[at : at + 8] for at in range(0, 32, 8))})"
    return f"({name}={directory_id})"


def _id(found: Attributes) -> uuid.UUID:
    values = found.get(settings.LDAP_ID_ATTRIBUTE.lower(), [])
    if len(values) != 1:
        raise Unusable(f"{settings.LDAP_ID_ATTRIBUTE}: {len(values)} values")
    if settings.LDAP_ID_ATTRIBUTE.lower() == "objectguid":
        return uuid.UUID(bytes_le=values[0]) if len(values[0]) == 16 else _bad("objectGUID")
    try:
        return uuid.UUID(hex=values[0].decode("ascii").replace("-", ""))
    except ValueError:
        return _bad(settings.LDAP_ID_ATTRIBUTE)


def _bad(name: str) -> uuid.UUID:
    raise Unusable(f"{name} is not a UUID")


def _login(dn: str, found: Attributes) -> str:
    """The login; of several values the one that names the entry, else the first in order."""
    attribute = settings.LDAP_LOGIN_ATTRIBUTE
    values = sorted(_decoded(value) for value in found.get(attribute.lower(), []))
    naming = [value for name, value, _kind in ldap.dn.str2dn(dn)[0] if name.lower() == attribute.lower()] if dn else []
    login = next((value for value in naming if value in values), values[0] if values else "")
    if not login.strip() or len(login) > 150:
        raise Unusable(f"{attribute} is empty or too long")
    return login


def _closed(found: Attributes) -> bool:
    """Disabled or past its end, as 389 Directory Server, FreeIPA and Active Directory say it."""
    flags, ends = _number(found, "userAccountControl") or 0, _number(found, "accountExpires") or 0
    if _text(found, "nsAccountLock").upper() == "TRUE" or flags & ACCOUNT_DISABLED:
        return True
    return ends not in NEVER and _windows_time(ends) <= datetime.now(UTC)


def _windows_time(ticks: int) -> datetime:
    """Hundreds of nanoseconds since 1601."""
    return datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=min(ticks // 10, 250_000_000_000_000_000))


def _mail(found: Attributes) -> str:
    mail = _text(found, "mail")
    return mail if "@" in mail and len(mail) <= 254 else ""


def _text(found: Attributes, name: str) -> str:
    values = found.get(name.lower(), [])
    return _decoded(values[0]) if values else ""


def _decoded(value: bytes) -> str:
    return value.decode("utf-8", "replace").replace("\x00", "�")


def _number(found: Attributes, name: str) -> int | None:
    return whole(_text(found, name), digits=19)
