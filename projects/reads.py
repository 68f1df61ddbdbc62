"""Reads of projects that several pages share: those that may be found, what somebody asked for, who is PI."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import chain
from typing import Any
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, JSONObject, NullIf
from django.utils import timezone

from access.permissions import Permission
from access.roles import Role, grants_of
from accounts.models import User
from projects.models import JoinRequest, Membership, Project, ProjectRequest, ProjectState, RequestState

MOST_LISTED = 30
MOST_ASKED = 200  # requests of one person on a page
ANSWER_SHOWN = timedelta(days=30)  # how long an answer stays on the page of whoever asked
_NAME = Coalesce(NullIf(F("user__display_name"), Value("")), F("user__username"))


def pis_of(now: datetime | None = None) -> ArraySubquery:
    """The names of each project's PIs."""
    rows = Membership.objects.active(now).filter(project=OuterRef("pk"), role=Role.PI).order_by("starts_at", "pk")
    return ArraySubquery(rows.annotate(name=_NAME).values("name"))


def joinable() -> QuerySet[Project]:
    """Projects one may ask to join: they allow being found and take work."""
    return Project.objects.filter(is_listed=True, state=ProjectState.ACTIVE)


def listed(user: User, words: str) -> QuerySet[Project]:
    """Those of them the person is not in, with `pis` and whether they `have_asked`."""
    mine = Membership.objects.active().filter(user=user, project=OuterRef("pk"))
    asked = JoinRequest.objects.filter(asked_by=user, project=OuterRef("pk"), state=RequestState.OPEN)
    rows = joinable().filter(~Exists(mine)).annotate(pis=pis_of(), have_asked=Exists(asked))
    if words:
        by_pi = Membership.objects.active().filter(
            project=OuterRef("pk"), role=Role.PI, user__display_name__icontains=words
        )
        rows = rows.filter(Q(code__icontains=words) | Q(title__icontains=words) | Exists(by_pi))
    return rows.order_by("title", "pk")


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """One request as whoever made it sees it; `code` and `title` are the project's. `kind`: what is asked for."""

    pk: UUID
    kind: str  # join, project, or a kind of request for an allocation
    code: str
    title: str
    at: datetime
    why: str
    state: str
    answer: str
    decided_at: datetime | None
    project_code: str | None

    @property
    def is_open(self) -> bool:
        """Whether the answer is still to come."""
        return self.state == RequestState.OPEN

    @property
    def is_approved(self) -> bool:
        """Whether the answer was yes."""
        return self.state == RequestState.APPROVED

    @property
    def state_name(self) -> str:
        """Where it stands, in words."""
        return str(RequestState(self.state).label)


OWN = ("asked_at", "why", "state", "answer", "decided_at")


def lately(user: User) -> Q:
    """What the person asked for and has no answer to yet, or has had one lately."""
    answered = Q(decided_at__gt=timezone.now() - ANSWER_SHOWN) & ~Q(state=RequestState.WITHDRAWN)
    return (Q(state=RequestState.OPEN) | answered) & Q(asked_by=user)


def asked_by(user: User, *, ever: bool = False) -> list[Asked]:
    """To join and for projects: what waits or was answered lately, or (ever) all there is; newest first."""
    wanted = Q(asked_by=user) if ever else lately(user)
    joins = JoinRequest.objects.filter(wanted).values_list(
        "pk", Value("join"), "project__code", "project__title", *OWN, "project__code"
    )
    opens = ProjectRequest.objects.filter(wanted).values_list(
        "pk", Value("project"), "code", "title", *OWN, "project__code"
    )
    rows: Iterable[Any] = chain(joins.order_by().union(opens.order_by(), all=True))
    return sorted((Asked(*row) for row in rows), key=lambda row: row.at, reverse=True)[:MOST_ASKED]


def own_request(user: User, pk: UUID) -> JoinRequest | ProjectRequest | None:
    """What this person asked for under this id."""
    join = JoinRequest.objects.filter(asked_by=user, pk=pk).select_related("project", "asked_by").first()
    return join or ProjectRequest.objects.filter(asked_by=user, pk=pk).select_related("asked_by").first()


def to_answer(user: User) -> list[dict[str, Any]]:
    """The person's own projects in which somebody waits to be let in: code, title and how many wait."""
    answering = [role for role in Role.values if Permission.MEMBER_MANAGE in grants_of(role)]
    mine = Membership.objects.active().filter(user=user, role__in=answering).values("project")
    rows = JoinRequest.objects.filter(state=RequestState.OPEN, project__in=mine).order_by("project__title")
    counted: Any = rows.values(code=F("project__code"), title=F("project__title")).annotate(waiting=Count("pk"))
    return list(counted)


def open_joins() -> ArraySubquery:
    """The open requests to join each project, oldest first, as plain values: the inbox costs a page no query."""
    name = Coalesce(NullIf(F("asked_by__display_name"), Value("")), F("asked_by__username"))
    rows = JoinRequest.objects.filter(project=OuterRef("pk"), state=RequestState.OPEN).order_by("asked_at")
    facts = JSONObject(pk="pk", name=name, login="asked_by__username", why="why", at="asked_at")
    return ArraySubquery(rows.values(facts=facts))
