"""References to people in the trail: the same login of the same person has the same one, which says nothing by itself.

A reference is a keyed digest, so that a process need not ask for it, and nobody without the portal's secret key finds
the login or address behind it by trying all of them.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from access.compiled import Fixed, cursor, insert
from audit.models import AuditEvent, Identity

LOGIN, NAME, ADDRESS = "login", "name", "address"
PERSON = "person"  # {"person": "<ref>"} stands for somebody in an event's detail
_MOST = 20_000
_NAMES = "SELECT DISTINCT ref, value FROM audit_identity WHERE ref = ANY(%s)"
_known: OrderedDict[UUID, None] = OrderedDict()  # written and committed by this process


def ref(kind: str, value: str, person: int | None = None) -> UUID | None:
    """The reference to write into an event; what it stands for is kept beside, in the same transaction."""
    if not value:
        return None
    words = f"{kind}\0{person or ''}\0{value}".encode("utf-8", "replace")
    key = hmac.digest(settings.SECRET_KEY.encode(), b"audit.identity\0" + words, hashlib.sha256)
    found = UUID(bytes=key[:16], version=5)
    if found not in _known and not _is_fresh(found):
        insert(Identity(ref=found, kind=kind, value=value[:250], person_id=person))
        _note(found)
    return found


class _Fresh(set[UUID]):
    """What one (part of a) transaction has written; known to this process once it is committed."""

    def __call__(self) -> None:
        for found in self:
            _known[found] = None
        while len(_known) > _MOST:
            _known.popitem(last=False)


def _is_fresh(found: UUID) -> bool:
    """Written in this very transaction; what is rolled back Django takes out of the list."""
    return any(
        found in told for _sids, told, *_ in transaction.get_connection().run_on_commit if isinstance(told, _Fresh)
    )


def _note(found: UUID) -> None:
    """It is written, within the innermost savepoint; where no transaction is open it is committed, too."""
    here = set(transaction.get_connection().savepoint_ids)
    for sids, told, *_ in reversed(transaction.get_connection().run_on_commit):
        if isinstance(told, _Fresh) and sids == here:
            told.add(found)
            return
    transaction.on_commit(_Fresh((found,)))


def forget() -> None:
    """What this process takes for written; after the table was emptied under it."""
    _known.clear()


def somebody(login: str, person: int | None = None) -> dict[str, str]:
    """Stands for a person in an event's detail."""
    found = ref(LOGIN, login, person)
    return {PERSON: str(found)} if found else {}


def numbers_of(login: str) -> list[int]:
    """Everybody who has, or had, this login, by number."""
    return [row.person_id for row in _LOGINS.all(login=login) if row.person_id is not None]


def _seen(login: str) -> QuerySet[Identity]:
    rows = Identity.objects.filter(kind=LOGIN, value=login, person_id__isnull=False)
    return rows.only("person_id").order_by("person_id").distinct("person_id")


def refs_of(address: str) -> list[UUID]:
    """Every reference to this address: each person has another. The first thousand."""
    return [row.ref for row in _ADDRESSES.all(address=address)]


def _from(address: str) -> QuerySet[Identity]:
    rows = Identity.objects.filter(kind=ADDRESS, value=address)
    return rows.only("ref").order_by("ref").distinct("ref")[:1000]


_LOGINS, _ADDRESSES = Fixed(_seen, kept=False), Fixed(_from, kept=False)


def named(ref: UUID | None) -> str:
    """What one reference stands for; "" where it stands for nobody."""
    found = Identity.objects.filter(ref=ref).values_list("value", flat=True).first() if ref else None
    return found or ""


def name_all(events: Iterable[AuditEvent]) -> list[AuditEvent]:
    """The events, with the names of everybody they refer to at hand: one query for all."""
    rows = list(events)
    wanted = {one for row in rows for one in row.refs()}
    names = _names(wanted) if wanted else {}
    for row in rows:
        row.names = names
    return rows


def _names(wanted: set[UUID]) -> dict[UUID, str]:
    with cursor() as asking:
        asking.execute(_NAMES, [list(wanted)])
        return dict(asking.fetchall())


def spoken(value: Any, names: dict[UUID, str]) -> Any:
    """A detail with people by name again."""
    match value:
        case {"person": str(found), **rest} if not rest:
            return names.get(UUID(found), found)
        case dict():
            return {key: spoken(item, names) for key, item in value.items()}
        case list():
            return [spoken(item, names) for item in value]
    return value
