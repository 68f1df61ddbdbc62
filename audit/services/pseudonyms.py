"""A person's name taken away (LGPD, art. 16 and 18): the account at once, the names beside the trail a while later.

Events hold references only, so no digest changes and verification passes as before. Only the sealer may replace what a
reference stands for; it waits AFTER, so that a process that was stolen cannot make everybody nameless unseen.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.functional import Promise

from audit import context, identities, persons, trail
from audit.actions import Action
from audit.models import Identity, Pseudonym
from audit.services import keeping

HEAD = "person-"


class Hindered(Exception):
    """Something stands against it; `reasons` in words."""

    def __init__(self, reasons: list[str | Promise]) -> None:
        super().__init__("; ".join(str(one) for one in reasons))
        self.reasons = reasons


class Done(Exception):
    """The person has a pseudonym already."""


def reasons(person: Any) -> list[str | Promise]:
    """What stands against taking this person's name away now."""
    from django.utils.translation import gettext as _

    held = [_("a legal hold covers this person")] if keeping.holds_on(person.pk) else []
    return [*held, *persons.against(person)]


@transaction.atomic
def ask(*, person: Any, by: Any, why: str) -> Pseudonym:
    """Replace what the rooms hold now; the sealer does the rest. Raises Hindered, Done."""
    _lock(person)
    if Pseudonym.objects.filter(person_id=person.pk).exists():
        raise Done(person.pk)
    found = reasons(person)
    if found:
        raise Hindered(found)
    row = Pseudonym.objects.create(
        person_id=person.pk, pseudonym=f"{HEAD}{secrets.token_hex(5)}", by_id=getattr(by, "pk", None), why=why[:300]
    )
    trail.record(Action.PSEUDONYM_ASKED, by=by, about=person, pseudonym=row.pseudonym, why=why)
    persons.erase(person, row.pseudonym)
    return row


def _lock(person: Any) -> None:
    """Two that ask at once wait for each other."""
    type(person)._default_manager.select_for_update().get(pk=person.pk)


def carry_out() -> int:
    """The sealer's part: names and addresses beside the trail; how many people. Held ones wait until the hold ends."""
    due = timezone.now() - timedelta(hours=settings.PSEUDONYM_AFTER_HOURS)
    waiting = Pseudonym.objects.filter(done_at=None, asked_at__lte=due).order_by("asked_at")
    free = [row for row in waiting if not keeping.holds_on(row.person_id)]
    for row in free:
        _replace(row)
    return len(free)


@transaction.atomic
def _replace(row: Pseudonym) -> None:
    now, theirs = timezone.now(), Q(person_id=row.person_id)
    logins = set(Identity.objects.filter(theirs, kind=identities.LOGIN).values_list("value", flat=True))
    shared = set(
        Identity.objects.filter(kind=identities.LOGIN, value__in=logins, person_id__isnull=False)
        .exclude(theirs)
        .values_list("value", flat=True)
    )  # a login that came to another person stands for them as well
    unnamed = Q(person_id=None, kind=identities.LOGIN, value__in=logins - shared)
    names = Identity.objects.filter((theirs & ~Q(kind=identities.ADDRESS)) | unnamed)
    count = names.exclude(value=row.pseudonym).update(value=row.pseudonym, erased_at=now)
    count += Identity.objects.filter(theirs, kind=identities.ADDRESS).update(value="", erased_at=now)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE audit_pseudonym SET done_at = %s WHERE id = %s", [now, row.pk])
    with context.coming_from("system"):
        trail.record(Action.PSEUDONYM_GIVEN, pseudonym=row.pseudonym, references=count)
