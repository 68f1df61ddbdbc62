"""Who could use data on a date: rows with their intervals and the trail alone say the same, whatever people did."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from access.roles import Role, SiteRole
from accounts import services as accounts
from audit import could, identities
from audit.actions import Action
from audit.models import AuditEvent
from datasets.models import Grant
from datasets.services import asking, registering
from projects import services as projects
from projects.models import Membership
from tests.datasets.conftest import Shelf
from tests.factories import make_user
from tests.pages import signed_in

pytestmark = pytest.mark.django_db
ACTS = ("give the project", "give a person", "revoke", "another steward", "join", "leave", "close", "retire")
Fact = tuple[str, str]  # login, purpose; or login, "steward"


class History:
    """Random acts through the real services; the moments between them."""

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.shelf.approved()
        self.moments: list[datetime] = []
        self.auditor = signed_in(make_user("olga", site_role=SiteRole.AUDITOR))

    def act(self, what: str) -> None:
        """One step; what the rules refuse changes nothing."""
        shelf = self.shelf
        acts: dict[str, Callable[[], Any]] = {
            "give the project": shelf.grant, "give a person": lambda: shelf.grant(to_person=shelf.stranger),
            "revoke": self._revoke, "join": self._join, "leave": self._leave, "another steward": self._steward,
            "close": lambda: accounts.deactivate(user=shelf.stranger, by=None, why="test"),
            "retire": lambda: registering.retire(dataset=shelf.dataset, by=shelf.steward),
        }  # fmt: skip
        try:
            with transaction.atomic():
                acts[what]()
        except (asking.NotOpen, asking.AlreadyAsked, projects.AlreadyMember, accounts.Closed):
            pass
        time.sleep(0.001)
        self.moments.append(timezone.now())
        time.sleep(0.001)

    def _revoke(self) -> None:
        grant = Grant.objects.filter(revoked_at=None).order_by("pk").first()
        if grant:
            asking.revoke(grant=grant, by=self.shelf.steward, why="test")

    def _join(self) -> None:
        projects.add_member(project=self.shelf.users, user=self.shelf.stranger, role=Role.RESEARCHER, by=None)

    def _leave(self) -> None:
        held = Membership.objects.active().filter(project=self.shelf.users, user=self.shelf.stranger).first()
        if held:
            projects.remove_member(membership=held, by=None)

    def _steward(self) -> None:
        other = self.shelf.owner_pi if self.shelf.dataset.steward == self.shelf.steward else self.shelf.steward
        self.shelf.dataset = registering.change_steward(dataset=self.shelf.dataset, steward=other, by=None)


def from_rows(at: datetime) -> set[Fact]:
    rows = could.answer(could.Asked(at, dataset="atlas"))
    return {(one.login, one.role) for one in rows if one.kind == "dataset"}


def from_page(auditor: Any, at: datetime) -> set[Fact]:
    """As an auditor reads it."""
    answer = auditor.get("/audit/access", {"at": at.isoformat(), "dataset": "atlas"})
    assert answer.status_code == 200
    return {(one.login, one.role) for one in answer.context["rows"] if one.kind == "dataset"}


def from_csv(auditor: Any, at: datetime) -> set[Fact]:
    """As they take it along."""
    answer = auditor.get("/audit/access.csv", {"at": at.isoformat(), "dataset": "atlas"})
    assert "access-atlas-" in answer["Content-Disposition"]
    rows = csv.DictReader(io.StringIO(answer.content.decode()))
    return {(row["login"], row["role"]) for row in rows if row["kind"] == "dataset"}


def from_events(at: datetime, members: set[str]) -> set[Fact]:
    """What the trail alone tells, beginning with who was in the project before."""
    members, given, closed, steward, retired = set(members), list[tuple[str, str]](), set[str](), "", False
    for event in AuditEvent.objects.filter(at__lte=at).order_by("pk"):
        said, who = event.said, event.subject_name
        whom = said.get("for_project") or "", said.get("for_person") or ""
        match event.action:
            case Action.DATASET_REGISTERED:
                steward = said["steward"]
            case Action.DATASET_STEWARD_CHANGED:
                steward = said["after"]
            case Action.DATASET_PERMITTED:
                given.append(whom)
            case Action.DATASET_REVOKED:
                given.remove(whom)
            case Action.DATASET_RETIRED:
                retired = True
            case Action.MEMBER_ADDED if event.project_code == "leitores":
                members.add(who)
            case Action.MEMBER_REMOVED if event.project_code == "leitores":
                members.discard(who)
            case Action.USER_CLOSED:
                closed.add(who)
    users = {one for project, person in given for one in (members if project else {person})}
    return {(steward, "steward")} | {(one, "research") for one in users - closed if not retired}


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(ACTS), min_size=3, max_size=12))
def test_rows_and_events_tell_the_same_of_data(db: None, steps: list[str]) -> None:
    with transaction.atomic():
        history = History()
        members = {one.user.username for one in Membership.objects.filter(project=history.shelf.users)}
        for step in steps:
            history.act(step)
        for at in history.moments:
            told = from_events(at, members)
            assert from_rows(at) == told, at
            assert from_page(history.auditor, at) == from_csv(history.auditor, at) == told, at
        transaction.set_rollback(True)
    identities.forget()


def test_whoever_is_closed_and_what_is_retired_could_not(db: None) -> None:
    history = History()
    for step in ("give a person", "give the project", "close", "retire"):
        history.act(step)
    stranger, at = history.shelf.stranger.username, history.moments
    for one in (from_rows, partial(from_page, history.auditor), partial(from_csv, history.auditor)):
        assert one(at[1]) == from_events(at[1], {"coordenador", "membro"})
    asked = AuditEvent.objects.filter(action=Action.ACCESS_ASKED, subject_type="dataset", subject_text="Atlas")
    assert asked.count() == 2  # the question names what it was about
    users = [{login for login, role in from_rows(one) if role == "research"} for one in at]
    assert users[0] == {stranger} and stranger in users[1] and users[2] == users[1] - {stranger} and users[3] == set()
