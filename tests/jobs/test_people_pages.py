"""The people of a project on its pages: found, included, changed, removed; every refusal in words beside its field."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone, translation

from access.ids import uuid7
from access.roles import Role, SiteRole
from accounts.models import User
from projects import services as projects
from projects.models import Membership, OnEnd, Project
from tests.conftest import Roles
from tests.factories import make_member, make_project, make_user
from tests.pages import Directory, directory, signed_in

__all__ = ["directory"]
pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true", "Accept-Language": "en"}


@pytest.fixture(autouse=True)
def english(settings: Any) -> None:
    translation.activate("en")
    settings.LANGUAGE_CODE = "en"


@pytest.fixture
def project() -> Project:
    return make_project("aurora")


@pytest.fixture
def pi(project: Project) -> User:
    return make_member(project, Role.PI, username="marina", language="en")


def at(page: str, *more: str) -> str:
    return reverse(f"projects:{page}", args=["aurora", *more])


def test_somebody_is_found_and_included(project: Project, pi: User, directory: Directory, roles: Roles) -> None:
    key = directory.add("bento")
    client = signed_in(pi)
    roles.use("web")
    found = client.get(at("people"), {"q": "bento"}, headers=HTMX).content.decode()
    assert "<html" not in found and str(key) in found
    answer = client.post(at("people"), {"person": key, "role": Role.VIEWER, "until": "2099-05-31", "why": "guest"})
    assert answer.status_code == 302 and answer.url == at("detail")
    row = Membership.objects.get(user__username="bento")
    assert (row.role, row.by, row.why) == (Role.VIEWER, pi, "guest")
    assert timezone.localtime(row.ends_at).strftime("%Y-%m-%d %H:%M:%S") == "2099-05-31 23:59:59"


def test_without_scripts_the_whole_page_comes_with_who_was_found(pi: User, directory: Directory) -> None:
    key = directory.add("bento")
    page = signed_in(pi).get(at("people"), {"q": "bento"}).content.decode()
    assert "<html" in page and f'value="{key}"' in page and 'name="csrfmiddlewaretoken"' in page


def test_members_and_locked_people_cannot_be_chosen(project: Project, pi: User, directory: Directory) -> None:
    here, locked = directory.add("bento", known=True), directory.add("bentinho", locked=True)
    projects.add_member(project=project, user=User.objects.get(username="bento"), role=Role.VIEWER, by=None)
    client = signed_in(pi)
    found = client.get(at("people"), {"q": "bent"}, headers=HTMX).content.decode()
    assert found.count("disabled") == 2
    for key, words in ((here, "a member already"), (locked, "locked"), (uuid7(), "no such person")):
        answer = client.post(at("people"), {"person": key, "role": Role.VIEWER})
        assert answer.status_code == 422 and words in answer.content.decode()


@pytest.mark.parametrize(("fields", "words"), [
    ({"person": "bento"}, "valid UUID"), ({"person": ""}, "Choose a person."), ({"role": "king"}, "valid choice"),
    ({"role": ""}, "required"), ({"until": "yesterday"}, "valid date"), ({"until": "2020-01-01"}, "cannot lie in the past"),
    ({"why": "x" * 301}, "at most 300"), ({"why": "a\x00b"}, "Null characters"),
])  # fmt: skip
def test_what_is_wrong_is_said_beside_its_field(
    pi: User, directory: Directory, fields: dict[str, str], words: str
) -> None:
    key = directory.add("bento")
    answer = signed_in(pi).post(at("people"), {"person": str(key), "role": Role.VIEWER} | fields)
    assert answer.status_code == 422 and words in answer.content.decode()
    assert Membership.objects.count() == 1


def test_a_silent_directory_is_one_plain_sentence(pi: User, directory: Directory) -> None:
    key, directory.down = directory.add("bento"), True
    client = signed_in(pi)
    found = client.get(at("people"), {"q": "bento"}, headers=HTMX)
    assert found.status_code == 200 and "does not answer" in found.content.decode()
    answer = client.post(at("people"), {"person": key, "role": Role.VIEWER})
    assert answer.status_code == 422 and "does not answer" in answer.content.decode()


def test_too_few_letters_are_told(pi: User, directory: Directory) -> None:
    assert "at least two letters" in signed_in(pi).get(at("people"), {"q": "b"}, headers=HTMX).content.decode()


def test_a_manager_is_offered_no_pi_and_cannot_become_one(project: Project, pi: User, directory: Directory) -> None:
    manager = make_member(project, Role.MANAGER, username="rafael", language="en")
    client, key = signed_in(manager), directory.add("bento")
    assert 'value="pi"' not in client.get(at("people")).content.decode()
    assert client.post(at("people"), {"person": key, "role": Role.PI}).status_code == 422
    assert client.post(at("change_member", "rafael"), {"role": Role.PI}).status_code == 422
    theirs = client.get(at("member", "marina")).content.decode()
    assert "Only a PI or a cluster administrator" in theirs
    assert at("remove_member", "marina") not in theirs and at("change_member", "marina") not in theirs
    assert client.post(at("change_member", "marina"), {"role": Role.VIEWER}).status_code == 403
    assert client.post(at("remove_member", "marina"), {"on_end": OnEnd.FINISH}).status_code == 403
    assert Membership.objects.get(user=manager).role == Role.MANAGER
    assert Membership.objects.get(user=pi).role == Role.PI


def test_role_and_last_day_are_changed_and_what_was_left_stays(project: Project, pi: User, roles: Roles) -> None:
    user = make_member(project, username="bento")
    client = signed_in(pi)
    roles.use("web")
    assert client.post(at("change_member", "bento"), {"role": Role.MANAGER, "until": ""}).status_code == 302
    later = timezone.now() + timedelta(days=3)
    projects.set_expiry(membership=user.memberships.get(ends_at=None), until=later, by=pi)
    shown = timezone.localdate(later).isoformat()
    assert shown in client.get(at("member", "bento")).content.decode()
    client.post(at("change_member", "bento"), {"role": Role.VIEWER, "until": shown})
    row = Membership.objects.active().get(user=user)
    assert (row.role, row.ends_at) == (Role.VIEWER, later)


def test_the_last_pi_stays_and_is_told_why(pi: User) -> None:
    client = signed_in(pi)
    for page, fields in (
        ("remove_member", {"on_end": OnEnd.FINISH}), ("change_member", {"role": Role.VIEWER}),
        ("change_member", {"role": Role.PI, "until": "2099-01-01"}),
    ):  # fmt: skip
        answer = client.post(at(page, "marina"), fields)
        assert answer.status_code == 422 and "Name another PI first" in answer.content.decode()
    assert Membership.objects.get(user=pi).role == Role.PI


@pytest.mark.parametrize("on_end", OnEnd.values)
def test_removed_with_a_choice_and_the_history_stays(project: Project, pi: User, roles: Roles, on_end: str) -> None:
    user = make_member(project, username="bento")
    client = signed_in(pi)
    roles.use("web")
    assert client.post(at("remove_member", "bento"), {"on_end": "explode"}).status_code == 422
    assert client.post(at("remove_member", "bento"), {"on_end": on_end, "why": "left"}).status_code == 302
    row = Membership.objects.get(user=user)
    assert (row.on_end, row.ended_by) == (on_end, pi)
    assert client.post(at("remove_member", "bento"), {"on_end": on_end}).status_code == 422
    page = client.get(at("member", "bento")).content.decode()
    assert pi.name in page and "not in the project now" in page
    assert "bento" in client.get(at("people")).content.decode()


def test_one_leaves_by_oneself_and_is_a_stranger_then(project: Project, pi: User) -> None:
    user = make_member(project, Role.VIEWER, username="bento")
    client = signed_in(user)
    assert "History" not in client.get(at("member", "bento")).content.decode()
    assert client.get(at("member", "marina")).status_code == 403
    answer = client.post(at("remove_member", "bento"), {"on_end": OnEnd.FINISH})
    assert answer.status_code == 302 and answer.url == reverse("projects:list")
    assert [client.get(at(page)).status_code for page in ("detail", "people")] == [404, 404]
    assert client.get(at("member", "bento")).status_code == 404


def test_an_expired_member_is_a_stranger(project: Project, pi: User) -> None:
    user = make_member(project, Role.PI, username="bento")
    Membership.objects.filter(user=user).update(ends_at=timezone.now())
    client = signed_in(user)
    for page in (at("detail"), at("people"), at("member", "bento"), at("member", "marina")):
        assert client.get(page).status_code == 404
    assert client.post(at("change_member", "bento"), {"role": Role.PI}).status_code == 404


def test_the_pi_of_another_project_finds_nothing_here(project: Project, pi: User, directory: Directory) -> None:
    client, key = signed_in(make_member(make_project(), Role.PI)), directory.add("bento")
    assert client.get(at("people"), {"q": "bento"}).status_code == 404
    assert client.post(at("people"), {"person": key, "role": Role.VIEWER}).status_code == 404
    assert client.post(at("remove_member", "marina"), {"on_end": OnEnd.CANCEL}).status_code == 404


def test_an_operator_does_all_of_it_and_an_auditor_nothing(project: Project, pi: User, directory: Directory) -> None:
    operator, auditor = make_user(site_role=SiteRole.OPERATOR), make_user(site_role=SiteRole.AUDITOR)
    key = directory.add("bento")
    assert signed_in(auditor).post(at("people"), {"person": key, "role": Role.PI}).status_code == 403
    assert signed_in(operator).post(at("people"), {"person": key, "role": Role.PI}).status_code == 302
    assert signed_in(operator).post(at("remove_member", "marina"), {"on_end": OnEnd.FINISH}).status_code == 302


def test_somebody_who_never_was_in_it_has_no_page(project: Project, pi: User) -> None:
    other = make_user()
    client = signed_in(pi)
    assert client.get(at("member", other.username)).status_code == client.get(at("member", "nobody")).status_code == 404
