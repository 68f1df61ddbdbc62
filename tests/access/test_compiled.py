"""What is compiled once says the same as Django does, for every value, and is kept by the server."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access import gate
from access.compiled import Fixed, cursor, insert, insert_all, update_all
from access.errors import NotFound, Refused
from access.permissions import Permission
from access.roles import Role, SiteRole
from accounts.models import ApiToken
from audit.actions import Action, Outcome
from audit.models import AuditEvent
from projects.models import Membership, Project
from tests.factories import make_member, make_project, make_user

pytestmark = pytest.mark.django_db


def test_the_same_rows_as_django_for_each_value() -> None:
    by_code = Fixed(lambda code: Project.objects.filter(code=code))
    first, second = make_project(), make_project()
    for project in (first, second, first):
        [found] = by_code.all(code=project.code)
        plain = Project.objects.get(pk=project.pk)
        assert {f.attname: getattr(found, f.attname) for f in Project._meta.concrete_fields} == {
            f.attname: getattr(plain, f.attname) for f in Project._meta.concrete_fields
        }
    assert by_code.all(code="none-such") == [] and by_code.first(code="none-such") is None


def test_a_relation_comes_along_in_the_same_statement() -> None:
    person = make_user()
    token = ApiToken.objects.create(
        user=person, name="t", prefix="bnc_12345678", digest="0" * 64, scopes=["read"], expires_at=timezone.now()
    )
    asked = Fixed(lambda prefix: ApiToken.objects.select_related("user").filter(prefix=prefix))
    with CaptureQueriesContext(connection) as seen:
        found = asked.first(prefix="bnc_12345678")
        assert found is not None and found.pk == token.pk and found.user == person and found.scopes == ["read"]
    assert len(seen) == 1 and "bnc_12345678" in seen.captured_queries[0]["sql"]


def test_a_value_the_statement_lost_is_an_error() -> None:
    with pytest.raises(ValueError, match="code"):
        Fixed(lambda code: Project.objects.all()).all(code="a")


@pytest.mark.parametrize("value", [True, None, 1.5])
def test_what_is_part_of_the_shape_is_no_value(value: object) -> None:
    with pytest.raises(TypeError):
        Fixed(lambda code: Project.objects.filter(code=code)).all(code=value)


def test_the_server_keeps_the_statement() -> None:
    asked = Fixed(lambda code: Project.objects.filter(code=code))
    for code in ("one", "two"):
        asked.all(code=code)
    with connection.cursor() as plain:
        plain.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%projects_project%'")
        assert plain.fetchone()[0] == 1


def test_inserted_as_django_inserts() -> None:
    facts = {"action": Action.JOB_SUBMITTED, "outcome": Outcome.DONE, "channel": "api", "address_ref": UUID(int=7),
             "detail": {"a": [1, "ü", None]}, "at": timezone.now(), "actor_id": 2**40}  # fmt: skip
    event = AuditEvent(**facts)
    insert(event)
    assert event.pk and not event._state.adding
    saved = AuditEvent.objects.get(pk=event.pk)
    assert {name: getattr(saved, name) for name in facts} == facts and saved.uid == event.uid
    assert saved.db_role


def test_an_empty_list_and_a_made_key_are_kept() -> None:
    project = Project(
        code=f"p{uuid4().hex[:8]}", title="P", slurm_account="p", unix_group="p", folder="/p", partitions=[]
    )
    insert(project)
    assert project.pk and Project.objects.get(pk=project.pk).partitions == []


def test_its_errors_are_djangos() -> None:
    from django.db import ProgrammingError

    with pytest.raises(ProgrammingError), cursor() as asking:
        asking.execute("SELECT none_such")


@pytest.mark.parametrize("permission", [Permission.PROJECT_VIEW, Permission.JOB_SUBMIT, Permission.MEMBER_MANAGE])
@pytest.mark.parametrize("who", [*Role.values, "operator", "stranger", "past", "future", "closed"])
def test_by_manager_and_by_queryset_the_gate_says_the_same(who: str, permission: Permission) -> None:
    project = make_project()
    person = _person(who, project)
    said = []
    for rows in (Project.objects, Project.objects.all(), Project.objects):
        try:
            said.append(gate.fetch(rows, person, permission, code=project.code))
        except (NotFound, Refused) as denied:
            said.append(type(denied))
    assert said[0] == said[1] == said[2]


def _person(who: str, project: Project) -> object:
    if who in Role.values:
        return make_member(project, who)
    if who == "operator":
        return make_user(site_role=SiteRole.OPERATOR)
    if who == "stranger":
        return make_user()
    person = make_member(project)
    rows, now = Membership.objects.filter(user=person), timezone.now()
    if who == "past":
        rows.update(starts_at=now - timedelta(days=2), ends_at=now - timedelta(seconds=1))
    elif who == "future":
        rows.update(starts_at=now + timedelta(minutes=1))
    else:
        person.is_active = False
    return person


def test_many_are_inserted_and_changed_in_one_round_trip_each() -> None:
    events = [AuditEvent(action=Action.JOB_STARTED, channel="system", at=timezone.now()) for _ in range(3)]
    insert_all(events)
    assert AuditEvent.objects.filter(uid__in=[event.uid for event in events]).count() == 3
    projects = [make_project(), make_project()]
    for number, project in enumerate(projects):
        project.title, project.partitions = f"Title {number}", ["gpu"] * number
    projects[0].slurm_account = "left-alone"
    update_all(projects, ["title", "partitions"])
    saved = [Project.objects.get(pk=project.pk) for project in projects]
    assert [(row.title, row.partitions) for row in saved] == [("Title 0", []), ("Title 1", ["gpu"])]
    assert saved[0].slurm_account != "left-alone"
    with CaptureQueriesContext(connection) as seen:
        insert_all([])
        update_all([], ["title"])
    assert len(seen) == 0
