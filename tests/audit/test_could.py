"""Who could, on a date: what the rows answer is what a replay of the trail answers, for random histories."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from access.ids import uuid7
from access.roles import Role, SiteRole
from accounts import services as accounts
from accounts.directory.entries import Entry
from accounts.models import User
from audit import could
from audit.actions import Action
from audit.models import AuditEvent, RightsTable
from projects import services as projects
from projects.models import Membership, Project
from tests.api import caller
from tests.conftest import Roles
from tests.factories import make_member, make_project, make_user
from tests.pages import signed_in

pytestmark = pytest.mark.django_db
PEOPLE, CODES = ("ana", "davi", "eva"), ("visao", "clima")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "role", "expire", "remove", "site", "close", "reopen"]),
        st.sampled_from(range(len(PEOPLE))), st.sampled_from(CODES), st.sampled_from(Role.values),
        st.sampled_from(SiteRole.values),
    ),
    min_size=3, max_size=14,
)  # fmt: skip
Fact = tuple[str, str, str, str]  # kind, login, code, role


class History:
    """Random acts through the real services; the moments between them."""

    def __init__(self) -> None:
        self.ids: dict[str, UUID] = {name: uuid7() for name in PEOPLE}
        self.moments: list[datetime] = []
        for name in PEOPLE:
            self._entry(name, SiteRole.NONE)
        for code in CODES:
            project = make_project(code)
            projects.add_member(project=project, user=make_user(f"pi-{code}"), role=Role.PI, by=None)

    def _entry(self, name: str, role: SiteRole) -> None:
        entry = Entry(
            self.ids[name],
            name,
            name=name.title(),
            mail=f"{name}@x.example",
            uid_number=30_000 + len(name) * 7 + ord(name[0]),
        )
        accounts.remember(entry=entry, site_role=role)

    def act(self, what: str, who: int, code: str, role: str, site: str) -> None:
        """One step; what the rules refuse changes nothing."""
        user, project = User.objects.get(directory_id=self.ids[PEOPLE[who]]), Project.objects.get(code=code)
        held = Membership.objects.active().filter(project=project, user=user).first()
        acts: dict[str, Callable[[], object]] = {
            "site": lambda: self._entry(PEOPLE[who], SiteRole(site)),
            "close": lambda: accounts.deactivate(user=user, by=None, why="test"),
            "reopen": lambda: self._reopen(user),
            "add": lambda: projects.add_member(project=project, user=user, role=role, by=None),
        }
        if held is not None:
            acts |= {
                "role": lambda: projects.change_role(membership=held, role=role, by=None),
                "expire": lambda: self._expire(held),
                "remove": lambda: projects.remove_member(membership=held, by=None),
            }
        try:
            with transaction.atomic():
                acts.get(what, lambda: None)()
        except (projects.AlreadyMember, projects.LastPI, projects.NotMember, projects.PastExpiry, accounts.Closed):
            pass
        time.sleep(0.001)
        self.moments.append(timezone.now())
        time.sleep(0.001)

    def _reopen(self, user: User) -> None:
        User.objects.filter(pk=user.pk, is_active=False).update(directory_missing_at=timezone.now())
        self._entry(user.username, SiteRole(user.site_role))

    def _expire(self, held: Membership) -> None:
        """In a few milliseconds; sometimes before the next step, sometimes after it."""
        projects.set_expiry(membership=held, until=timezone.now() + timedelta(milliseconds=4), by=None)


def from_rows(at: datetime) -> set[Fact]:
    return {(one.kind, one.login, one.code, one.role) for one in could.answer(could.Asked(at))}


def from_events(at: datetime) -> set[Fact]:
    """What the trail alone tells: members with their roles and last moments, site roles, who was open."""
    members: dict[tuple[str, str], tuple[str, datetime | None]] = {}
    site: dict[str, str] = {}
    closed: set[str] = set()
    for event in AuditEvent.objects.filter(at__lte=at).order_by("pk"):
        said, who = event.detail, event.subject_name
        key = (who, event.project_code)
        match event.action:
            case Action.MEMBER_ADDED:
                members[key] = (said["role"], _moment(said.get("until")))
            case Action.MEMBER_ROLE_CHANGED:
                members[key] = (said["after"], members[key][1])
            case Action.MEMBER_EXPIRY_CHANGED:
                members[key] = (members[key][0], _moment(said.get("after")))
            case Action.MEMBER_REMOVED:
                members.pop(key)
            case Action.ROLE_CHANGED:
                site[who] = said["after"]
            case Action.USER_CLOSED:
                closed.add(who)
            case Action.USER_REOPENED:
                closed.discard(who)
    found = {
        ("project", who, code, role)
        for (who, code), (role, until) in members.items()
        if who not in closed and (until is None or until > at)
    }
    return found | {("site", who, "", role) for who, role in site.items() if role and who not in closed}


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_rows_and_events_tell_the_same(db: None, steps: list[tuple[str, int, str, str, str]]) -> None:
    with transaction.atomic():
        history = History()
        for step in steps:
            history.act(*step)
        for at in history.moments:
            assert from_rows(at) == from_events(at), at
        transaction.set_rollback(True)
    from audit import identities

    identities.forget()


def test_what_a_role_brought_is_what_the_table_of_that_day_said(roles: Roles) -> None:
    assert could.note() and not could.note()
    first = RightsTable.objects.get()
    RightsTable.objects.create(at=first.at - timedelta(days=30), project_roles={"viewer": ["job_view"]}, site_roles={})
    assert could.rights_at(first.at - timedelta(days=1)).of_project("viewer") == ("job_view",)
    assert could.rights_at(first.at - timedelta(days=300)).of_project("viewer") == ("job_view",)
    assert "log_read" in could.rights_at(timezone.now()).of_project("viewer")


def test_page_api_and_csv_say_the_same_and_each_question_is_an_event(roles: Roles) -> None:
    project = make_project("visao")
    make_member(project, Role.PI, username="pia")
    make_member(project, Role.RESEARCHER, username="ana", display_name='=cmd("x")')
    auditor = make_user("olga", site_role=SiteRole.AUDITOR, language="en")
    browser, api, at = signed_in(auditor), caller(auditor), timezone.now().isoformat()
    roles.use("web")
    asked = {"project": "visao", "at": at}
    page = browser.get("/audit/access", asked)
    said = {(one.login, one.role) for one in page.context["rows"]}
    assert said == {("pia", "pi"), ("ana", "researcher"), ("olga", "auditor")} and b"What it brought" in page.content
    answer = api.get(f"/audit/access?project=visao&at={at.replace('+00:00', 'Z')}").json()
    assert {(one["login"], one["role"]) for one in answer} == said
    assert {one["login"]: "job_submit" in one["rights"] for one in answer} == {"pia": True, "ana": True, "olga": False}
    rows = list(csv.DictReader(io.StringIO(browser.get("/audit/access.csv", asked).content.decode())))
    assert {(row["login"], row["role"]) for row in rows} == said
    assert '\'=cmd("x")' in {row["name"] for row in rows}
    assert AuditEvent.objects.filter(action=Action.ACCESS_ASKED, project_code="visao").count() == 3


def test_a_question_that_is_none_says_what_is_wrong(roles: Roles) -> None:
    browser = signed_in(make_user("olga", site_role=SiteRole.AUDITOR, language="en"))
    roles.use("web")
    assert browser.get("/audit/access").status_code == 200
    for asked in (
        {"at": "yesterday"},
        {"at": "2026-03-12", "person": "nobody"},
        {"at": "2026-03-12", "project": "none"},
        {"at": "2026-03-12", "dataset": "none"},
    ):
        assert browser.get("/audit/access", asked).status_code == 422
    assert browser.get("/audit/access", {"at": "2026-03-12"}).status_code == 200


def test_tokens_count_while_they_are_live_and_their_owner_is_open(roles: Roles) -> None:
    ana = make_user("ana")
    caller(ana)
    now = timezone.now()
    kinds = lambda at: [one.kind for one in could.answer(could.Asked(at, person="ana"))]  # noqa: E731
    assert kinds(now) == ["token"] and kinds(now - timedelta(days=1)) == [] and kinds(now + timedelta(days=2)) == []
    accounts.deactivate(user=ana, by=None, why="left")
    assert kinds(timezone.now()) == []
