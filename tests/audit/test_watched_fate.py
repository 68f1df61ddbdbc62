"""The watch over acts and events finds what it is there to find: an act that is committed before its event is."""

from __future__ import annotations

import pytest
from django.db import transaction

from audit import trail
from audit.actions import Action
from audit.models import SavedFilter
from tests import fate


def acts_first() -> None:
    """What must never be written."""
    SavedFilter.objects.create(owner_id=1, name="act", query="")
    with transaction.atomic():
        trail.record(Action.RETENTION_CHANGED, kind="job")


@transaction.atomic
def together() -> None:
    """As it has to be."""
    SavedFilter.objects.create(owner_id=1, name="act", query="")
    trail.record(Action.RETENTION_CHANGED, kind="job")


def twice() -> None:
    """Two acts, each with its event."""
    together()
    SavedFilter.objects.all().delete()
    together()


@pytest.mark.django_db
def test_an_act_that_is_committed_before_its_event_is_found() -> None:
    fate._entered(acts_first)()
    found, fate.WATCH.wrong = fate.WATCH.wrong, []
    assert (
        len(found) == 1 and "acts_first had written audit_savedfilter before the transaction of retention" in found[0]
    )


@pytest.mark.django_db
@pytest.mark.parametrize(("named", "table"), [("", "audit_savedfilter"), (" retention.changed", "audit_savedfilter"),
                                              ("", "other"), (" hold.placed", "audit_savedfilter")])  # fmt: skip
def test_what_is_written_first_by_design_is_named_by_its_table(
    monkeypatch: pytest.MonkeyPatch, named: str, table: str
) -> None:
    monkeypatch.setitem(fate.INTENT_FIRST, f"{acts_first.__module__}.acts_first{named}", {table})
    fate._entered(acts_first)()
    found, fate.WATCH.wrong = fate.WATCH.wrong, []
    assert bool(found) == (table == "other" or named == " hold.placed")


@pytest.mark.django_db
def test_one_that_shares_a_transaction_with_it_is_not() -> None:
    fate._entered(together)()
    assert fate.WATCH.wrong == [] and Action.RETENTION_CHANGED in fate.WATCH.seen


@pytest.mark.django_db
def test_what_is_written_between_two_acts_has_no_event() -> None:
    fate._entered(twice)()
    found, fate.WATCH.wrong = fate.WATCH.wrong, []
    assert len(found) == 1 and "twice" in found[0]
