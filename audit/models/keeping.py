"""How long bodies of events are kept, what holds them beyond that, and which are gone by which event."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit.models.seal import GUARDS
from audit.retention import FIVE_YEARS, HALF_A_YEAR, NOTICE

_DAYS = NOTICE.days
# What is shortened counts from NOTICE on, whoever writes the row: a stolen process empties no trail overnight.
_IN_TIME = f"""
IF NEW.starts_at < now() + interval '{_DAYS} days' - interval '1 minute' AND EXISTS (
    SELECT FROM (SELECT days FROM public.audit_retentionrule r WHERE r.kind = NEW.kind AND r.starts_at <= now()
      ORDER BY r.starts_at DESC, r.id DESC LIMIT 1) current WHERE NEW.days < coalesce(current.days, 2147483647)) THEN
  RAISE EXCEPTION 'less may be kept only after {_DAYS} days of notice';
END IF;
RETURN NEW;"""  # noqa: S608 - a number of ours
_LIFTED_NOW = """
IF OLD.lifted_at IS NOT NULL THEN RAISE EXCEPTION 'this hold is lifted already'; END IF;
NEW.lifted_at = now();
RETURN NEW;"""


class RetentionRule(models.Model):
    """From `starts_at` on, bodies of this class are kept for so many days (None: for ever). Rows are only added."""

    kind = models.CharField(_("class"), max_length=12)  # audit.catalogue.RetentionClass
    days = models.PositiveIntegerField(_("days"), null=True)
    starts_at = models.DateTimeField(default=timezone.now)
    at = models.DateTimeField(default=timezone.now)
    by_id = models.BigIntegerField(null=True)
    why = models.CharField(_("why"), max_length=300, blank=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(days=None) | Q(days__gte=HALF_A_YEAR) & (~Q(kind="incident") | Q(days__gte=FIVE_YEARS)),
                name="retention_is_long_enough",
            ),
        )
        triggers = (
            *GUARDS,
            pgtrigger.Trigger(name="in_time", operation=pgtrigger.Insert, when=pgtrigger.Before, func=_IN_TIME),
        )

    def __str__(self) -> str:
        return f"{self.kind}: {self.days}"


class LegalHold(models.Model):
    """What it covers is kept, whatever the rules say: all events that fit every part that is given (none: all events).

    `person_id` covers what a person did, what was done to them, and what names them. It ends at `ends_at`, or NOTICE
    after it was lifted. Only lifting changes a row.
    """

    reason = models.CharField(_("reason"), max_length=500)
    person_id = models.BigIntegerField(null=True, blank=True)
    person_ref = models.UUIDField(null=True, blank=True)  # their login, in audit_identity
    project_id = models.BigIntegerField(null=True, blank=True)
    project_code = models.CharField(_("project"), max_length=40, blank=True)
    dataset_id = models.BigIntegerField(null=True, blank=True)
    dataset = models.CharField(_("dataset"), max_length=60, blank=True)
    since = models.DateTimeField(_("events from"), null=True, blank=True)
    until = models.DateTimeField(_("events until"), null=True, blank=True)
    placed_at = models.DateTimeField(default=timezone.now)
    placed_by_id = models.BigIntegerField(null=True, blank=True)
    ends_at = models.DateTimeField(_("kept until"), null=True, blank=True)
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by_id = models.BigIntegerField(null=True, blank=True)
    lifted_why = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ("-placed_at",)
        constraints = (
            models.CheckConstraint(
                condition=Q(since=None) | Q(until=None) | Q(until__gt=F("since")), name="hold_covers_a_period"
            ),
        )
        triggers = (
            pgtrigger.Protect(name="never_deleted", operation=pgtrigger.Delete),
            pgtrigger.Trigger(
                name="no_truncate",
                level=pgtrigger.Statement,
                operation=pgtrigger.Truncate,
                when=pgtrigger.Before,
                func="RAISE EXCEPTION 'holds are kept';",
            ),
            pgtrigger.Trigger(
                name="only_lifted",
                operation=pgtrigger.Update,
                when=pgtrigger.Before,
                condition=pgtrigger.AnyChange(exclude=["lifted_at", "lifted_by_id", "lifted_why"]),
                func="RAISE EXCEPTION 'a hold is lifted, never changed';",
            ),
            pgtrigger.Trigger(name="z_lifted_now", operation=pgtrigger.Update, when=pgtrigger.Before, func=_LIFTED_NOW),
        )

    def __str__(self) -> str:
        return self.reason


class RemovedBody(models.Model):
    """A record whose body is gone, with the record that names it as removed. Written by audit_remove_bodies() alone."""

    seq = models.BigIntegerField(primary_key=True)
    by = models.BigIntegerField()

    class Meta:
        triggers = GUARDS

    def __str__(self) -> str:
        return f"{self.seq} by {self.by}"
