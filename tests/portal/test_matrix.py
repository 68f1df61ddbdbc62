"""Who gets what: every page × every kind of person. A page missing from the table fails the test."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from access.ids import uuid7
from access.roles import Role, SiteRole
from accounts.models import User
from audit.actions import Action
from audit.models import AuditEvent
from jobs import services
from jobs.models import Job
from projects import services as projects
from projects.models import JoinRequest, ProjectRequest
from quotas import services as quotas
from quotas.models import AllocationRequest, FundingSource
from quotas.services import requests as wishes
from tests.conftest import Roles
from tests.factories import make_allocation, make_cluster, make_member, make_project, make_user
from tests.pages import signed_in

PEOPLE = ("nobody", "stranger", "viewer", "member", "manager", "pi", "operator", "auditor")
TO_SIGN_IN, OK, REDIRECT, REFUSED, ABSENT, WRONG_METHOD, UNPROCESSABLE = 302, 200, 302, 403, 404, 405, 422


def row(text: str) -> dict[str, int]:
    """Eight numbers, one a person, in the order of PEOPLE."""
    return dict(zip(PEOPLE, map(int, text.split()), strict=True))


# page, method: nobody stranger viewer member manager pi operator auditor
TABLE: dict[tuple[str, str], dict[str, int]] = {
    ("home", "GET"): row("302 200 200 200 200 200 200 200"),
    ("help", "GET"): row("200 200 200 200 200 200 200 200"),
    ("jobs:list", "GET"): row("302 200 200 200 200 200 200 200"),
    ("jobs:submit", "GET"): row("302 404 403 200 200 200 403 403"),
    ("jobs:submit", "POST"): row("302 404 403 422 422 422 403 403"),
    ("jobs:detail", "GET"): row("302 404 200 200 200 200 200 200"),
    ("jobs:live", "GET"): row("302 404 200 200 200 200 200 200"),
    ("jobs:cancel", "POST"): row("302 404 403 403 302 302 302 403"),
    ("jobs:log", "GET"): row("302 404 200 200 200 200 200 403"),
    ("jobs:log_find", "GET"): row("302 404 200 200 200 200 200 403"),
    ("jobs:log_download", "GET"): row("302 404 404 404 404 404 404 403"),
    ("projects:list", "GET"): row("302 200 200 200 200 200 200 200"),
    ("projects:detail", "GET"): row("302 404 200 200 200 200 200 200"),
    ("projects:trail", "GET"): row("302 404 403 403 200 200 200 200"),
    ("projects:people", "GET"): row("302 404 403 403 200 200 200 403"),
    ("projects:people", "POST"): row("302 404 403 403 422 422 422 403"),
    ("projects:member", "GET"): row("302 404 403 200 200 200 200 403"),
    ("projects:change_member", "POST"): row("302 404 403 403 422 422 422 403"),
    ("projects:remove_member", "POST"): row("302 404 403 422 422 422 422 403"),
    ("projects:join", "GET"): row("302 404 404 404 404 404 404 404"),
    ("projects:join", "POST"): row("302 404 404 404 404 404 404 404"),
    ("projects:let_in", "POST"): row("302 404 403 403 302 302 302 403"),
    ("projects:turn_away", "POST"): row("302 404 403 403 302 302 302 403"),
    ("projects:edit", "GET"): row("302 404 403 403 403 403 200 403"),
    ("projects:edit", "POST"): row("302 404 403 403 403 403 422 403"),
    ("projects:listing", "POST"): row("302 404 403 403 403 302 302 403"),
    ("projects:archive", "GET"): row("302 404 403 403 403 403 200 403"),
    ("projects:archive", "POST"): row("302 404 403 403 403 403 302 403"),
    ("allocations:create", "GET"): row("302 404 403 403 403 403 200 403"),
    ("allocations:create", "POST"): row("302 404 403 403 403 403 422 403"),
    ("allocations:one", "GET"): row("302 404 200 200 200 200 200 200"),
    ("allocations:one_csv", "GET"): row("302 404 200 200 200 200 200 200"),
    ("allocations:shares", "GET"): row("302 404 403 403 200 200 200 403"),
    ("allocations:shares", "POST"): row("302 404 403 403 200 200 200 403"),
    ("allocations:change", "GET"): row("302 404 403 403 403 403 200 403"),
    ("allocations:change", "POST"): row("302 404 403 403 403 403 422 403"),
    ("allocations:close", "GET"): row("302 404 403 403 403 403 200 403"),
    ("allocations:close", "POST"): row("302 404 403 403 403 403 200 403"),
    ("allocations:make_default", "GET"): row("302 404 403 403 200 200 200 403"),
    ("allocations:make_default", "POST"): row("302 404 403 403 200 200 200 403"),
    ("allocations:add_funding", "GET"): row("302 404 403 403 200 200 200 403"),
    ("allocations:add_funding", "POST"): row("302 404 403 403 422 422 422 403"),
    ("allocations:change_funding", "GET"): row("302 404 403 403 200 200 200 403"),
    ("allocations:change_funding", "POST"): row("302 404 403 403 422 422 422 403"),
    ("allocations:funding_report", "GET"): row("302 404 200 200 200 200 200 200"),
    ("allocations:funding_csv", "GET"): row("302 404 200 200 200 200 200 200"),
    ("allocations:month", "GET"): row("302 404 200 200 200 200 200 200"),
    ("allocations:month_csv", "GET"): row("302 404 200 200 200 200 200 200"),
    ("allocations:ask", "GET"): row("302 404 403 403 200 200 403 403"),
    ("allocations:ask", "POST"): row("302 404 403 403 422 422 403 403"),
    ("allocations:request", "GET"): row("302 404 404 404 200 200 200 200"),
    ("allocations:comment", "POST"): row("302 404 404 404 422 422 422 403"),
    ("allocations:withdraw", "POST"): row("302 404 404 404 302 302 403 403"),
    ("allocations:decide", "POST"): row("302 404 404 404 403 403 422 403"),
    ("operate:differences", "GET"): row("302 404 404 404 404 404 200 404"),
    ("operate:differences_csv", "GET"): row("302 404 404 404 404 404 200 404"),
    ("operate:dry_run", "GET"): row("302 404 404 404 404 404 200 404"),
    ("operate:resolve", "POST"): row("302 404 404 404 404 404 302 404"),
    ("operate:list", "GET"): row("302 404 404 404 404 404 200 404"),
    ("operate:projects_csv", "GET"): row("302 404 404 404 404 404 200 404"),
    ("operate:open_project", "GET"): row("302 404 404 404 404 404 200 404"),
    ("operate:open_project", "POST"): row("302 404 404 404 404 404 422 404"),
    ("operate:people", "GET"): row("302 404 404 404 404 404 200 404"),
    ("operate:requests", "GET"): row("302 404 404 404 404 404 200 404"),
    ("operate:refuse_project", "POST"): row("302 404 404 404 404 404 302 404"),
    ("ask:list", "GET"): row("302 200 200 200 200 200 200 200"),
    ("ask:project", "GET"): row("302 200 200 200 200 200 200 200"),
    ("ask:project", "POST"): row("302 422 422 422 422 422 422 422"),
    ("ask:withdraw", "POST"): row("302 404 404 404 404 404 404 404"),
    ("cluster:overview", "GET"): row("302 200 200 200 200 200 200 200"),
    ("audit:list", "GET"): row("302 404 404 404 404 404 200 200"),
}
ELSEWHERE = ("accounts:", "set_language", "healthz", "readyz", "metrics", "api-")  # tests of their own


@dataclasses.dataclass
class World:
    """One project with one waiting job, seen by everybody."""

    job: Job
    code: str
    people: dict[str, User | None]
    member: str  # login of PEOPLE's member
    join: JoinRequest
    request: ProjectRequest
    source: FundingSource
    wish: AllocationRequest

    def address(self, page: str) -> str:
        if page.startswith("jobs:") and page not in ("jobs:list", "jobs:submit"):
            return reverse(page, args=[self.job.pk])
        if page in ("projects:let_in", "projects:turn_away"):
            return reverse(page, args=[self.code, self.join.pk])
        if page in ("projects:member", "projects:change_member", "projects:remove_member"):
            return reverse(page, args=[self.code, self.member])
        if page.startswith("projects:") and page != "projects:list":
            return reverse(page, args=[self.code])
        if page.startswith("allocations:"):
            return reverse(page, args=self._of_allocations(page.removeprefix("allocations:")))
        if page == "operate:resolve":
            return reverse(page, args=[self.code])
        if page in ("operate:refuse_project", "ask:withdraw"):
            return reverse(page, args=[self.request.pk if page == "operate:refuse_project" else uuid7()])
        return reverse(page) + (f"?project={self.code}" if page == "jobs:submit" else "")

    def _of_allocations(self, page: str) -> list[Any]:
        """What the address of such a page names beside the project."""
        table = ["people"] if page.endswith("_csv") else []
        if page in ("create", "add_funding", "ask"):
            return [self.code]
        if page in ("change_funding", "funding_report", "funding_csv"):
            return [self.code, self.source.pk, *table]
        if page in ("month", "month_csv"):
            return [self.code, timezone.now().year, 1, *table]
        if page in ("request", "comment", "withdraw", "decide"):
            return [self.code, self.wish.pk]
        return [self.code, "main", *table]


@pytest.fixture
def world(db: None) -> World:
    make_cluster()
    project = make_project()
    make_allocation(project)
    owner = make_member(project)
    raw = {"name": "treino", "partition": "gpu", "gpus": 1, "script": "#!/bin/bash\ntrue\n"}
    spec, allocation = services.prepare(raw, project=project)
    job = services.submit(project=project, spec=spec, allocation=allocation, by=owner)
    people: dict[str, User | None] = {
        "nobody": None, "stranger": make_member(make_project()), "viewer": make_member(project, Role.VIEWER),
        "member": make_member(project), "manager": make_member(project, Role.MANAGER), "pi": make_member(project, Role.PI),
        "operator": make_user(site_role=SiteRole.OPERATOR), "auditor": make_user(site_role=SiteRole.AUDITOR),
    }  # fmt: skip
    asker = make_user()
    join = projects.ask_to_join(project=project, by=asker, why="I work on it.")
    request = projects.ask_project(by=asker, code="novo", title="Novo", why="It is new.")
    source = quotas.add_funding(project=project, by=None, agency="FAP", number="1", starts_on=timezone.now().date())
    wish = wishes.ask(
        project=project, kind="more", by=people["pi"], why="For the paper.", allocation=allocation, gpu_minutes=90_000
    )
    return World(job, project.code, people, people["member"].username, join, request, source, wish)


@pytest.mark.parametrize(("page", "method"), TABLE)
def test_every_kind_of_person_gets_what_the_table_says(world: World, roles: Roles, page: str, method: str) -> None:
    clients = {name: signed_in(user) for name, user in world.people.items()}
    roles.use("web")
    got = {}
    for name, client in clients.items():
        data: dict[str, Any] = {"project": world.code, "script": ""} if method == "POST" else {}
        got[name] = client.generic(method, world.address(page), **_form(data)).status_code
    assert got == TABLE[page, method]


def _form(data: dict[str, Any]) -> dict[str, Any]:
    from urllib.parse import urlencode

    return {"data": urlencode(data), "content_type": "application/x-www-form-urlencoded"} if data else {}


def test_every_page_stands_in_the_table() -> None:
    pages = {name for name in _names(get_resolver()) if not name.startswith(ELSEWHERE)}
    assert pages == {page for page, _method in TABLE}


def _names(resolver: URLResolver, space: str = "") -> list[str]:
    found = []
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            found += _names(one, f"{one.namespace}:" if one.namespace else space)
        elif isinstance(one, URLPattern) and one.name:
            found.append(space + one.name)
    return found


def test_not_yours_looks_like_not_there_and_is_recorded(world: World, roles: Roles) -> None:
    client = signed_in(world.people["stranger"])
    roles.use("web")
    theirs = client.get(reverse("jobs:detail", args=[world.job.pk]))
    absent = client.get(reverse("jobs:detail", args=["01900000-0000-7000-8000-000000000000"]))
    assert theirs.status_code == absent.status_code == ABSENT
    assert _same(theirs.content) == _same(absent.content)
    assert AuditEvent.objects.filter(action=Action.ACCESS_REFUSED).count() == 2


def _same(page: bytes) -> list[bytes]:
    """The page without what differs by request: nonces, tokens, the address asked for."""
    import re

    return re.sub(rb'(nonce|value|content)="[^"]*"|X-CSRFToken[^}]*|next=[^"]*|[0-9a-f-]{36}', b"", page).split()
