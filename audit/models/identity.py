"""The personal data of the trail, in one table beside it: events name logins, names and addresses by reference only."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.utils import timezone


class Identity(models.Model):
    """One login, name or address as it was seen of one person. Events hold `ref`; the value may be pseudonymised.

    Each process writes whom it has not named yet, so a reference may stand here several times: if it were unique, two
    transactions that name the same two people in another order would wait for each other.
    Nothing but `value` and `erased_at` ever changes, and only the sealer's role may change them.
    """

    id = models.BigAutoField(primary_key=True)
    ref = models.UUIDField(db_index=True, editable=False)
    kind = models.CharField(max_length=10)  # login, name, address
    value = models.CharField(max_length=250)
    person_id = models.BigIntegerField(null=True)
    at = models.DateTimeField(default=timezone.now)
    erased_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=["person_id"], name="identity_of_person"),
            models.Index(fields=["kind", "value"], name="identity_value"),
        )
        triggers = (
            pgtrigger.Protect(name="never_deleted", operation=pgtrigger.Delete),
            pgtrigger.Trigger(
                name="no_truncate",
                level=pgtrigger.Statement,
                operation=pgtrigger.Truncate,
                when=pgtrigger.Before,
                func="RAISE EXCEPTION 'who the trail speaks of is kept beside it';",
            ),
            pgtrigger.Trigger(
                name="only_the_value",
                operation=pgtrigger.Update,
                when=pgtrigger.Before,
                condition=pgtrigger.AnyChange("ref", "kind", "person_id", "at"),
                func="RAISE EXCEPTION 'only the value of an identity may be replaced';",
            ),
        )

    def __str__(self) -> str:
        return self.value
