"""Asking for a project or to join one, and the decision on it."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from audit import trail
from audit.actions import Action
from projects.models import JoinRequest, Membership, Project, ProjectRequest, Request, RequestState
from projects.services.change import lock
from projects.services.members import AlreadyMember, add_member

R = TypeVar("R", bound=Request)
UNDECIDED = ("decided_by",)  # empty until somebody decides


class Decided(Exception):
    """The request is not open any more."""


class AlreadyAsked(Exception):
    """The person has asked before and waits for the answer."""


@transaction.atomic
def ask_project(*, by: User, **fields: Any) -> ProjectRequest:
    """Ask for a project; `fields` are ProjectRequest's own. Raises ValidationError."""
    row = ProjectRequest(asked_by=by, **fields)
    row.full_clean(exclude=UNDECIDED)
    row.save()
    trail.record(Action.PROJECT_REQUESTED, by=by, about=row, code=row.code, why=row.why)
    return row


@transaction.atomic
def ask_to_join(*, project: Project, by: User, why: str) -> JoinRequest:
    """Ask the project's PI and managers to be let in. Raises AlreadyMember, AlreadyAsked, ValidationError."""
    lock(project)
    if Membership.objects.active().filter(project=project, user=by).exists():
        raise AlreadyMember(by.username)
    if JoinRequest.objects.filter(project=project, asked_by=by, state=RequestState.OPEN).exists():
        raise AlreadyAsked(project.code)
    row = JoinRequest(project=project, asked_by=by, why=why)
    row.full_clean(exclude=UNDECIDED)
    row.save()
    trail.record(Action.JOIN_REQUESTED, by=by, about=by, project=project, why=why)
    return row


@transaction.atomic
def let_in(*, request: JoinRequest, role: str, by: User, answer: str = "") -> Membership:
    """Approve: the person is a member from now on. Raises Decided, AlreadyMember."""
    lock(request.project)
    row = decide(request, RequestState.APPROVED, by=by, answer=answer)
    trail.record(
        Action.JOIN_DECIDED,
        by=by,
        about=row.asked_by,
        project=row.project,
        decision=row.state,
        role=role,
        answer=answer,
    )
    return add_member(project=row.project, user=row.asked_by, role=role, by=by, why=row.why)


@transaction.atomic
def turn_away(*, request: JoinRequest, by: User, answer: str) -> JoinRequest:
    """Refuse to let somebody in. Raises Decided."""
    row = decide(request, RequestState.REFUSED, by=by, answer=answer)
    trail.record(Action.JOIN_DECIDED, by=by, about=row.asked_by, project=row.project, decision=row.state, answer=answer)
    return row


@transaction.atomic
def grant_project(*, request: ProjectRequest, project: Project, by: User | None, answer: str = "") -> ProjectRequest:
    """The project was opened for this request. Raises Decided."""
    row = decide(request, RequestState.APPROVED, by=by, answer=answer)
    row.project = project
    row.save(update_fields=["project"])
    trail.record(Action.PROJECT_DECIDED, by=by, about=row, project=project, decision=row.state, answer=answer)
    return row


@transaction.atomic
def refuse_project(*, request: ProjectRequest, by: User, answer: str) -> ProjectRequest:
    """No project. Raises Decided."""
    row = decide(request, RequestState.REFUSED, by=by, answer=answer)
    trail.record(Action.PROJECT_DECIDED, by=by, about=row, decision=row.state, answer=answer)
    return row


@transaction.atomic
def withdraw(*, request: R) -> R:
    """Whoever asked wants no answer any more. Raises Decided."""
    row = decide(request, RequestState.WITHDRAWN, by=request.asked_by, answer="")
    project = getattr(row, "project", None)
    trail.record(Action.REQUEST_WITHDRAWN, by=row.asked_by, about=row, project=project)
    return row


def decide(request: R, state: RequestState, *, by: User | None, answer: str) -> R:
    """One decision a request: the row is locked and must be open. Raises Decided."""
    row = type(request)._default_manager.select_for_update().get(pk=request.pk)
    if not row.is_open:
        raise Decided(str(row.pk))
    row.state, row.decided_by, row.decided_at, row.answer = state, by, timezone.now(), answer
    row.save(update_fields=["state", "decided_by", "decided_at", "answer"])
    return row


__all__ = [
    "AlreadyAsked", "AlreadyMember", "Decided", "ask_project", "ask_to_join", "decide", "grant_project", "let_in",
    "refuse_project", "turn_away", "withdraw",
]  # fmt: skip
