"""Callers of the API for its tests: a person's token, and the world they call in."""

from __future__ import annotations

import dataclasses
from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from access.roles import Role, SiteRole
from accounts.models import ApiToken, User
from accounts.services import issue_token
from jobs import services
from jobs.models import Handover, HandoverOutcome, Job
from projects.models import Project
from tests.factories import make_allocation, make_cluster, make_member, make_project, make_user

PEOPLE = ("nobody", "stranger", "viewer", "member", "manager", "pi", "operator", "auditor")
EVERYTHING = ("read", "submit", "audit", "manage")
REQUEST: dict[str, Any] = {"name": "treino", "partition": "gpu", "gpus": 1, "script": "#!/bin/bash\ntrue\n"}


def issue(user: User, scopes: tuple[str, ...] = EVERYTHING, **fields: Any) -> str:
    """A token's secret; `fields` are changed on its row afterwards."""
    token, secret = issue_token(user=user, name="test", scopes=scopes, days=1, by=user)
    if fields:
        ApiToken.objects.filter(pk=token.pk).update(**fields)
    return secret


@dataclasses.dataclass
class Caller:
    """Somebody with a token (None: without), speaking English."""

    secret: str | None
    client: Client = dataclasses.field(default_factory=lambda: Client(raise_request_exception=False))

    def get(self, path: str, **headers: str) -> HttpResponse:
        """GET below /api/v1."""
        return self.client.get(f"/api/v1{path}", headers=self._headers(headers))

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        """POST JSON below /api/v1."""
        data = {} if body is None else {"data": body, "content_type": "application/json"}
        return self.client.post(f"/api/v1{path}", headers=self._headers(headers), **data)

    def patch(self, path: str, body: Any) -> HttpResponse:
        """PATCH JSON below /api/v1."""
        return self.client.patch(
            f"/api/v1{path}", headers=self._headers({}), data=body, content_type="application/json"
        )

    def delete(self, path: str) -> HttpResponse:
        """DELETE below /api/v1."""
        return self.client.delete(f"/api/v1{path}", headers=self._headers({}))

    def _headers(self, more: dict[str, str]) -> dict[str, str]:
        known = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        return {"Accept-Language": "en"} | known | {name.replace("_", "-"): value for name, value in more.items()}


def caller(user: User | None, scopes: tuple[str, ...] = EVERYTHING) -> Caller:
    """This person with a fresh token."""
    return Caller(issue(user, scopes) if user else None)


@dataclasses.dataclass
class World:
    """One project with one waiting job of `owner`; the others of PEOPLE come when they are asked for."""

    project: Project
    job: Job
    owner: User
    _people: dict[str, User | None] = dataclasses.field(default_factory=lambda: {"nobody": None})

    def person(self, name: str) -> User | None:
        """One of PEOPLE."""
        if name not in self._people:
            self._people[name] = self._make(name)
        return self._people[name]

    def caller(self, name: str) -> Caller:
        """One of PEOPLE with a token that may do everything its owner may."""
        return caller(self.person(name))

    def accepted(self, ticket: str = "ticket", **fields: Any) -> Handover:
        """The job as Slurm has taken it."""
        now = timezone.now()
        fields = {"outcome": HandoverOutcome.ACCEPTED, "slurm_job_id": 7} | fields
        return Handover.objects.create(
            job=self.job, cluster=self.job.cluster, submit_time=now, uid=self.owner.uid_number, accepted_at=now,
            stdout_path="/srv/out", ticket=ticket, **fields,
        )  # fmt: skip

    def _make(self, name: str) -> User:
        match name:
            case "stranger":
                return make_member(make_project("boreal"))
            case "operator" | "auditor":
                return make_user(site_role=SiteRole(name))
        return make_member(self.project, Role.RESEARCHER if name == "member" else Role(name))


def make_world(**allocation: Any) -> World:
    """The cluster, the project, the owner and the job."""
    make_cluster()
    project = make_project("aurora")
    make_allocation(project, **allocation)
    owner = make_member(project)
    spec, spent = services.prepare(dict(REQUEST), project=project)
    job = services.submit(project=project, spec=spec, allocation=spent, by=owner)
    return World(project, job, owner)
