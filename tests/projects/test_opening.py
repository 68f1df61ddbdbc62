"""An operator opens, changes, archives and reopens projects and answers who asks; every wrong field is told."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils import translation

from access.roles import Role, SiteRole
from accounts.models import User
from audit.actions import Action
from audit.models import AuditEvent
from projects import services as projects
from projects.models import Membership, Project, ProjectRequest, ProjectState, RequestState
from tests.conftest import Roles
from tests.factories import make_cluster, make_member, make_project, make_user
from tests.pages import Directory, directory, signed_in

__all__ = ["directory"]
pytestmark = pytest.mark.django_db
NEW = {
    "code": "novo", "title": "Novo", "classification": "internal", "partitions": ["gpu", "prep"], "unix_group": "novo",
    "folder": "/srv/novo", "starts_on": "2026-01-01", "ends_on": "2026-12-31",
}  # fmt: skip
OPEN = "/operate/projects/new"


@pytest.fixture(autouse=True)
def cluster(settings: Any) -> None:
    translation.activate("en")
    settings.LANGUAGE_CODE = "en"
    make_cluster()


@pytest.fixture
def operator() -> User:
    return make_user(site_role=SiteRole.OPERATOR, language="en")


def test_opened_with_its_pi_and_the_code_as_its_slurm_account(
    operator: User, directory: Directory, roles: Roles
) -> None:
    key, client = directory.add("bento"), signed_in(operator)
    roles.use("web")
    assert str(key) in client.get("/operate/people", {"q": "bento"}).content.decode()
    assert client.post(OPEN, NEW | {"pi": key}).status_code == 302
    row = Project.objects.get(code="novo")
    assert (row.slurm_account, row.partitions, row.ends_on) == ("novo", ["gpu", "prep"], datetime.date(2026, 12, 31))
    assert Membership.objects.get(project=row).role == Role.PI
    assert AuditEvent.objects.get(action=Action.PROJECT_CREATED).actor_id == operator.pk


def test_without_scripts_the_search_keeps_what_was_typed(operator: User, directory: Directory) -> None:
    key = directory.add("bento")
    answer = signed_in(operator).post(OPEN, {"title": "Half typed", "partitions": ["prep"], "q": "bento", "find": "1"})
    page = answer.content.decode()
    assert answer.status_code == 200 and str(key) in page and 'value="Half typed"' in page
    assert 'value="prep" checked' in page.replace("\n", " ") or "checked" in page
    assert not Project.objects.exists()


@pytest.mark.parametrize(("field", "value", "words"), [
    ("code", "Novo!", "lower-case"), ("code", "velho", "already exists"), ("title", "", "required"),
    ("folder", "/srv/x; true", "whole path"), ("unix_group", "a b", "letters"), ("partitions", ["moon"], "valid choice"),
    ("partitions", [], "required"), ("ends_on", "2025-01-01", "before the first"), ("classification", "x", "valid choice"),
    ("pi", "", "Choose a person."), ("pi", "01900000-0000-7000-8000-000000000000", "no such person"),
])  # fmt: skip
def test_what_is_wrong_is_said_beside_its_field(
    operator: User, directory: Directory, field: str, value: object, words: str
) -> None:
    make_project("velho")
    answer = signed_in(operator).post(OPEN, NEW | {"pi": str(directory.add("bento"))} | {field: value})
    assert answer.status_code == 422 and words in answer.content.decode()
    assert Project.objects.count() == 1


def test_asked_for_seen_by_the_operator_and_opened_from_it(directory: Directory, operator: User, roles: Roles) -> None:
    key = directory.add("bento", known=True)
    asker = User.objects.get(directory_id=key)
    client, theirs = signed_in(asker), signed_in(operator)
    roles.use("web")
    wanted = {"title": "Novo", "code": "novo", "classification": "sensitive", "why": "Hearts."}
    assert client.post("/ask/project", wanted | {"code": "N"}).status_code == 422
    assert client.post("/ask/project", wanted).status_code == 302
    row = ProjectRequest.objects.get()
    assert "Hearts." in theirs.get("/operate/requests").content.decode()
    form = theirs.get(OPEN, {"request": str(row.pk)}).content.decode()
    assert 'value="Novo"' in form and f'value="{key}" checked' in form and "Hearts." in form
    answer = theirs.post(OPEN, NEW | {"pi": key, "request": str(row.pk), "answer": "Welcome."})
    assert answer.status_code == 302
    row.refresh_from_db()
    assert (row.state, row.answer, row.project.code) == (RequestState.APPROVED, "Welcome.", "novo")
    assert "Welcome." in client.get("/projects/").content.decode()
    again = theirs.post(OPEN, NEW | {"code": "novo2", "pi": key, "request": str(row.pk)})
    assert again.status_code == 422 and not Project.objects.filter(code="novo2").exists()
    assert theirs.get(OPEN, {"request": "nonsense"}).status_code == 404


def test_refused_with_words(operator: User) -> None:
    asker, client = make_user(), signed_in(operator)
    row = projects.ask_project(by=asker, code="novo", title="Novo", why="It is new.")
    address = reverse("operate:refuse_project", args=[row.pk])
    client.post(address, {"answer": ""})
    row.refresh_from_db()
    assert row.is_open
    client.post(address, {"answer": "No room this year."})
    assert "No room this year." in signed_in(asker).get("/projects/").content.decode()


def test_changed_but_never_its_code(operator: User, roles: Roles) -> None:
    project, client = make_project("velho"), signed_in(operator)
    roles.use("web")
    address = reverse("projects:edit", args=["velho"])
    fields = {name: value for name, value in NEW.items() if name != "code"} | {"title": "Other", "code": "hacked"}
    assert client.post(address, fields | {"folder": "relative"}).status_code == 422
    assert client.post(address, fields | {"is_listed": "on"}).status_code == 302
    project.refresh_from_db()
    assert (project.code, project.title, project.is_listed) == ("velho", "Other", True)


def test_archived_and_open_again_after_being_told_what_that_does(operator: User, roles: Roles) -> None:
    project, client = make_project("velho"), signed_in(operator)
    member = signed_in(make_member(project))
    roles.use("web")
    address = reverse("projects:archive", args=["velho"])
    assert "New jobs are refused" in client.get(address).content.decode()
    project.refresh_from_db()
    assert project.state == ProjectState.ACTIVE
    client.post(address, {"act": "archive", "why": "over"})
    assert "archived" in member.get(reverse("projects:detail", args=["velho"])).content.decode()
    assert "submit jobs again" in client.get(address).content.decode()
    client.post(address, {"act": "reopen"})
    project.refresh_from_db()
    assert project.state == ProjectState.ACTIVE
    events = AuditEvent.objects.filter(action__in=(Action.PROJECT_ARCHIVED, Action.PROJECT_REOPENED))
    assert events.count() == 2


def test_nobody_else_learns_that_these_pages_are_there(directory: Directory) -> None:
    pi = signed_in(make_member(make_project(), Role.PI))
    for page in (OPEN, "/operate/projects", "/operate/projects.csv", "/operate/requests", "/operate/people?q=ab"):
        assert pi.get(page).status_code == 404
    assert pi.post(OPEN, NEW).status_code == 404


@pytest.mark.parametrize("folder", ["/srv/velho", "/srv/velho/novo", "/srv"])
def test_a_folder_of_another_group_is_not_taken(operator: User, directory: Directory, folder: str) -> None:
    make_project("velho", folder="/srv/velho", unix_group="velho")
    key = directory.add("bento")
    answer = signed_in(operator).post(OPEN, NEW | {"pi": key, "folder": folder})
    page = answer.content.decode()
    assert answer.status_code == 422 and "The project velho (Unix group velho) has the folder /srv/velho" in page
    assert not Project.objects.filter(code="novo").exists()


def test_of_the_same_group_or_beside_it_it_is_and_no_change_goes_around(operator: User) -> None:
    old = make_project("velho", folder="/srv/velho", unix_group="velho", partitions=["gpu"])
    projects.change_project(project=old, by=operator, folder="/srv/velho/dados")
    facts: dict[str, Any] = {"by": operator, "title": "x", "partitions": ["gpu"]}
    projects.open_project(code="um", slurm_account="um", folder="/srv/velho", unix_group="velho", **facts)
    beside = facts | {"folder": "/srv/velho2", "unix_group": "novo"}
    new = projects.open_project(code="dois", slurm_account="dois", **beside)
    for folder in ("/srv/velho/dados/x", "/srv/velho"):
        with pytest.raises(ValidationError, match="take one beside it"):
            projects.change_project(project=new, by=operator, folder=folder)
    projects.change_project(project=new, by=operator, folder="/srv/velho", unix_group="velho")
    with pytest.raises(ValidationError):
        projects.change_project(project=new, by=operator, unix_group="novo")
