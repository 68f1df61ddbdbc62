"""A search is written once for its shape and filled in each time: it finds what Django would have found."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from access.compiled import FixedValues
from audit import context, trail
from audit.actions import Action, Outcome
from audit.models import AuditEvent
from audit.services import searching
from audit.services.searching import Search
from projects.models import Project
from tests.factories import make_project, make_user

pytestmark = pytest.mark.django_db
NOW = timezone.now()
DAY = timedelta(days=1)


@pytest.fixture
def several() -> list[AuditEvent]:
    """By two people from two addresses, on three days, in two projects."""
    people, projects = [make_user("ana"), make_user("davi")], [make_project("visao"), make_project("seg")]
    for number in range(24):
        with context.coming_from("web", address=f"192.0.2.{number % 2}", correlation=f"c{number % 5}"):
            action, outcome = (Action.LOG_READ, Outcome.DONE) if number % 3 else (Action.SIGNED_IN, Outcome.REFUSED)
            event = trail.event(action, by=people[number % 2], about=people[0], project=projects[number // 2 % 2],
                                outcome=outcome)  # fmt: skip
        event.at = NOW - (2 - number // 8) * DAY
        event.save()
    return list(AuditEvent.objects.order_by("-pk"))


ASKED: list[dict[str, Any]] = [
    {}, {"who": "ana"}, {"who": "davi"}, {"who": "nobody"}, {"project": "visao"}, {"project": "seg", "action": "log.read"},
    {"project": "visao", "action": "session.opened"}, {"address": "192.0.2.0"}, {"address": "192.0.2.9"},
    {"outcome": "refused", "who": "davi"}, {"correlation": "c1"}, {"since": NOW - DAY}, {"since": NOW - DAY, "until": NOW},
    {"since": NOW - 2 * DAY, "until": NOW - DAY}, {"until": NOW - 5 * DAY}, {"since": NOW + DAY},
    {"who": "ana", "address": "192.0.2.0", "since": NOW - DAY, "project": "visao"}, {"job": "no-such"},
]  # fmt: skip


@pytest.mark.parametrize("most", [3, 51])
@pytest.mark.parametrize("asked", ASKED)
def test_it_finds_what_django_finds(several: list[AuditEvent], asked: dict[str, Any], most: int) -> None:
    search = Search(**asked)
    for before in (None, several[0].pk, several[10].pk, several[-1].pk):
        found = search.found(AuditEvent.objects.all(), before=before, most=most)
        plain = search.found(AuditEvent.objects.filter(pk__gt=0), before=before, most=most)
        assert [one.pk for one in found] == [one.pk for one in plain]
        assert [one.actor_name for one in found] == [one.actor_name for one in plain]


def test_one_statement_serves_every_value_of_its_shape(several: list[AuditEvent]) -> None:
    searching._statement.cache_clear()
    for name in ("ana", "davi", "ana"):
        for event in Search(who=name).found(AuditEvent.objects.all(), before=None, most=51):
            assert name in (event.actor_name, event.subject_name)
    assert searching._statement.cache_info().currsize == 1
    found = Search(address="192.0.2.1").found(AuditEvent.objects.all(), before=None, most=51)
    assert len(found) == 12 and {event.address for event in found} == {"192.0.2.1"}


def test_more_ways_than_a_union_has_are_looked_up_at_once(
    several: list[AuditEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [one.pk for one in Search(who="ana").found(AuditEvent.objects.all(), before=None, most=51)]
    monkeypatch.setattr(searching, "MOST_WAYS", 1)
    assert [one.pk for one in Search(who="ana").found(AuditEvent.objects.all(), before=None, most=51)] == wanted


def test_plain_values_are_those_of_each_time() -> None:
    make_project("visao", title="One")
    make_project("seg", title="Two")
    asked = FixedValues(lambda code: Project.objects.filter(code=code).values_list("title", "code"))
    assert [asked.all(code=code) for code in ("seg", "visao", "none")] == [[("Two", "seg")], [("One", "visao")], []]
