"""Killed by SIGKILL around its event, an act leaves nothing; let through, it leaves both: tried for real at every audited act.

Each act is done by a process of its own, with a connection of its own, in a database where the world stands committed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection, transaction

from accounts.services import issue_token
from audit import trail
from audit.actions import Action
from portal.management.commands.setup_roles import create_roles, grant
from tests import template
from tests.matrix.asking import _enter, _send, call_for
from tests.matrix.conftest import stand_in
from tests.matrix.expect import OWN
from tests.matrix.killing import Act, Moment, act_in, drop, fingerprint, inside, make
from tests.matrix.people import World
from tests.matrix.rules import Rule
from tests.matrix.services import BESIDE, SERVICES, Does, Service
from tests.matrix.test_one_fate import ACTS, INTENT_FIRST, TRAIL, claim_of, whoever_may
from tests.matrix.told import EVENTS

pytestmark = pytest.mark.django_db


class Stage:
    """The world, committed in one database, and a copy of it where acts are done."""

    def __init__(self) -> None:
        name = connection.settings_dict["NAME"]
        self.kept, self.name = f"{name}_kept", f"{name}_killed"
        template.copy(self.kept)
        with inside(self.kept):
            create_roles()
            grant()
            with transaction.atomic():
                self.world = World()
        self.restore()
        self.before = fingerprint(self.name)

    def restore(self) -> None:
        make(self.name, self.kept)

    def changed(self, before: dict[str, Any]) -> set[str]:
        """The tables that are not as they were."""
        after = fingerprint(self.name)
        return {table for table in before if before[table] != after[table]}

    def drop(self) -> None:
        drop(self.name)
        drop(self.kept)


@pytest.fixture(scope="module")
def stage(django_db_setup: None, django_db_blocker: Any) -> Iterator[Stage]:
    patched = pytest.MonkeyPatch()
    with django_db_blocker.unblock():
        made = Stage()
        stand_in(made.world, patched)
        yield made
        made.drop()
    patched.undo()


def at_the_door(world: World, rule: Rule) -> Act:
    """Somebody for whom it succeeds does it."""
    person = whoever_may(rule)
    call = call_for(world, rule, person, OWN)
    return lambda: _send(call, _enter(world, rule.kind, person)).status


def doors() -> list[Rule]:
    """Of doors to the same act one; `test_one_fate.py` tries all of them."""
    return list({EVENTS[str(rule)]: rule for rule in ACTS if str(rule) in EVENTS}.values())


@pytest.mark.parametrize("rule", doors(), ids=str)
def test_a_door_leaves_act_and_event_or_neither(stage: Stage, rule: Rule) -> None:
    act, events = at_the_door(stage.world, rule), EVENTS[str(rule)].split()
    first = TRAIL if any(start in str(rule) for start in INTENT_FIRST) else set[str]()
    killed(stage, act, events, stage.before, first=first, claim=claim_of(rule))
    through(stage, act, events, stage.before, status=rule.ok)


@pytest.mark.parametrize("one", SERVICES, ids=str)
def test_a_service_leaves_act_and_event_or_neither(stage: Stage, one: Service) -> None:
    def does(what: Does) -> Act:
        return lambda: int(what(stage.world) is NotImplemented)

    if one.before:
        act_in(stage.name, does(one.before), role="")
    before, events = fingerprint(stage.name), one.events.split()
    killed(stage, does(one.act), events, before, role=one.role)
    through(stage, does(one.act), events, before, role=one.role)


def killed(
    stage: Stage, act: Act, events: list[str], before: dict[str, Any], *, role: str = "web",
    first: Collection[str] = (), claim: Collection[str] = (),
) -> None:  # fmt: skip
    """At each of its moments nothing stays; after the first event there may be an intent beside, in `first`. A claim
    stays, and is in the way of whoever comes next."""
    around = {1: [Moment.FIRST, Moment.EVENT, Moment.COMMIT]}
    around |= {number: [Moment.EVENT, Moment.COMMIT] for number in range(2, len(events) + 1)}
    for number, moments in around.items():
        for moment in moments:
            assert act_in(stage.name, act, moment, number, role).killed, f"it came through: {moment} {number}"
            if not claim and moment is not moments[-1]:
                continue
            changed = stage.changed(before)
            if changed:
                stage.restore()
            stays = {*claim, *(first if number > 1 else ())}
            assert changed <= stays, f"killed around event {number}: {changed} had changed"


def through(
    stage: Stage, act: Act, events: list[str], before: dict[str, Any], *, role: str = "web", status: int = 0
) -> None:
    """Nobody kills it: act and events are there, or neither was to stay (a rehearsal)."""
    end = act_in(stage.name, act, role=role)
    changed = stage.changed(before)
    if changed:
        stage.restore()
    assert (end.killed, end.status, list(end.events)) == (False, status, events)
    assert not changed or changed >= {"audit_auditevent"}


def test_every_act_of_the_catalogue_is_tried_or_named() -> None:
    tried = {event for events in [*EVENTS.values(), *(one.events for one in SERVICES)] for event in events.split()}
    assert tried | set(BESIDE) == set(Action.values) and not tried & set(BESIDE)


def test_a_service_that_commits_before_its_event_would_be_found(stage: Stage) -> None:
    user = stage.world.users["researcher"]

    def act() -> int:
        with patch.object(trail, "record"):
            issue_token(user=user, name="x", scopes=["read"], days=1, by=user)
        trail.record(Action.TOKEN_ISSUED, by=user)
        return 0

    assert act_in(stage.name, act, Moment.EVENT).killed
    assert stage.changed(stage.before) - TRAIL == {"accounts_apitoken"}
    stage.restore()
