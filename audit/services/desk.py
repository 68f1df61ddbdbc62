"""Filters of the trail that somebody keeps under a name."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from audit.models import SavedFilter

MOST = 50


class TooMany(Exception):
    """The person keeps MOST filters already."""


@transaction.atomic
def keep(*, by: Any, name: str, query: str) -> SavedFilter:
    """Under a name of one's own; the same name again replaces it. Raises TooMany."""
    mine = SavedFilter.objects.filter(owner_id=by.pk)
    if not mine.filter(name=name).exists() and mine.count() >= MOST:
        raise TooMany(MOST)
    row, _made = SavedFilter.objects.update_or_create(owner_id=by.pk, name=name, defaults={"query": query})
    return row


def kept(user: Any) -> list[SavedFilter]:
    """All of somebody's, by name."""
    return list(SavedFilter.objects.filter(owner_id=user.pk).order_by("name"))


def forget(*, by: Any, pk: int) -> bool:
    """Whether there was one of theirs."""
    return bool(SavedFilter.objects.filter(owner_id=by.pk, pk=pk).delete()[0])
