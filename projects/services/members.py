"""Who is in a project: adding, changing a role or an expiry, removing. Grants and Slurm follow the membership."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from access import gate
from access.errors import Refused
from access.permissions import Permission
from access.roles import Role
from accounts import hints
from accounts.models import User
from audit import trail
from audit.actions import Action
from projects.models import JoinRequest, Membership, OnEnd, Project, ProjectGrant, RequestState
from projects.services import grants
from projects.services.change import lock, touched


class AlreadyMember(Exception):
    """The person has an open membership already."""


class NotMember(Exception):
    """The membership is over already, or was changed by somebody else a moment ago."""


class LastPI(Exception):
    """A project keeps at least one PI, and one without an expiry."""


class PastExpiry(Exception):
    """An expiry lies in the future."""


@transaction.atomic
def add_member(
    *, project: Project, user: User, role: str, by: User | None, why: str = "", until: datetime | None = None
) -> Membership:
    """Make somebody a member from now on. Raises AlreadyMember, PastExpiry; Refused where only a PI may name one."""
    project = lock(project)
    _led(project, role, by=by)
    _in_future(until)
    if Membership.objects.active().filter(project=project, user=user).exists():
        raise AlreadyMember(user.username)
    membership = Membership.objects.create(
        project=project, user=user, role=Role(role), by=by, why=why[:300], ends_at=until
    )
    grants.give(project, user, role)
    _answer_open_request(project, user, by)
    touched(project)
    trail.record(Action.MEMBER_ADDED, by=by, about=user, project=project, role=role, why=why, until=until)
    return membership


@transaction.atomic
def change_role(*, membership: Membership, role: str, by: User | None, why: str = "") -> Membership:
    """End the row and begin another, so that the interval of each role is kept. Raises NotMember, LastPI, Refused."""
    row = _current(membership)
    before, until = row.role, row.ends_at
    if before == role:
        return row
    _led(row.project, before, role, by=by)
    if before == Role.PI:
        _keep_a_pi(row)
    _end(row, by=by, on_end=OnEnd.FINISH, why=why)
    renewed = Membership.objects.create(
        project=row.project, user=row.user, role=Role(role), by=by, why=why[:300], ends_at=until,
        starts_at=row.ends_at or timezone.now(),  # no moment between in which the person was nobody
    )  # fmt: skip
    grants.give(row.project, row.user, role)
    touched(row.project)
    hints.rights_changed(row.user_id)
    trail.record(
        Action.MEMBER_ROLE_CHANGED, by=by, about=row.user, project=row.project, before=before, after=role, why=why
    )
    return renewed


@transaction.atomic
def set_expiry(*, membership: Membership, until: datetime | None, by: User | None, why: str = "") -> Membership:
    """Let the membership end at `until`, or (None) not by itself. Raises NotMember, LastPI, PastExpiry, Refused."""
    row = _current(membership)
    if row.ends_at == until:
        return row
    _led(row.project, row.role, by=by)
    _in_future(until)
    if row.role == Role.PI and until is not None:
        _keep_a_pi(row)
    before, row.ends_at, row.ended_why = row.ends_at, until, why[:300] if until else ""
    row.save(update_fields=["ends_at", "ended_why"])
    touched(row.project)
    trail.record(
        Action.MEMBER_EXPIRY_CHANGED, by=by, about=row.user, project=row.project, before=before, after=until, why=why
    )
    return row


@transaction.atomic
def change_member(
    *, membership: Membership, role: str, until: datetime | None, by: User | None, why: str = ""
) -> Membership:
    """Role and expiry together: both change or neither. Raises what change_role and set_expiry do."""
    row = change_role(membership=membership, role=role, by=by, why=why)
    return set_expiry(membership=row, until=until, by=by, why=why)


@transaction.atomic
def remove_member(*, membership: Membership, by: User | None, on_end: str = OnEnd.FINISH, why: str = "") -> None:
    """End a membership now; what becomes of the person's jobs is `on_end`. Raises NotMember, LastPI, Refused."""
    row = _current(membership)
    _led(row.project, row.role, by=by)
    if row.role == Role.PI:
        _keep_a_pi(row)
    _end(row, by=by, on_end=OnEnd(on_end), why=why)
    grants.take(row.project, row.user_id)
    touched(row.project)
    hints.rights_changed(row.user_id)
    trail.record(
        Action.MEMBER_REMOVED, by=by, about=row.user, project=row.project, role=row.role, on_end=on_end, why=why
    )


@transaction.atomic
def close_expired() -> int:
    """Memberships whose time has passed lose the grants they still hold; how many did. Repeatable."""
    now = timezone.now()
    rows = Membership.objects.filter(ends_at__lte=now, ended_by=None).select_related("user", "project")
    held = set(ProjectGrant.objects.values_list("content_object_id", "user_id").distinct())
    active = set(Membership.objects.active().values_list("project_id", "user_id"))
    over = {(row.project_id, row.user_id): row for row in rows.order_by("ends_at")}
    late = [row for key, row in over.items() if key in held and key not in active]
    for row in late:
        lock(row.project)
        grants.take(row.project, row.user_id)
        touched(row.project)
        hints.rights_changed(row.user_id)
        trail.record(Action.MEMBER_EXPIRED, about=row.user, project=row.project, role=row.role, until=row.ends_at)
    return len(late)


def _current(membership: Membership) -> Membership:
    """The row as it stands, with its project locked: what the caller holds may be old."""
    lock(membership.project)
    row = Membership.objects.active().select_related("project", "user").filter(pk=membership.pk).first()
    if row is None:
        raise NotMember(str(membership))
    return row


def _led(project: Project, *roles: str, by: User | None) -> None:
    """A PI is made and unmade by a PI, an administrator or (None) the system; a manager raises nobody to it."""
    if Role.PI in roles and by is not None and not gate.can(project, by, Permission.PROJECT_LEAD):
        raise Refused(Permission.PROJECT_LEAD, "projects.project", {"code": project.code})


def _answer_open_request(project: Project, user: User, by: User | None) -> None:
    """Whoever had asked to join has their answer with it."""
    asked = JoinRequest.objects.filter(project=project, asked_by=user, state=RequestState.OPEN)
    asked.update(state=RequestState.APPROVED, decided_by=by, decided_at=timezone.now())


def _in_future(until: datetime | None) -> None:
    if until is not None and until <= timezone.now():
        raise PastExpiry(until.isoformat())


def _keep_a_pi(leaving: Membership) -> None:
    stays = Membership.objects.active().filter(
        project=leaving.project, role=Role.PI, user__is_active=True, ends_at=None
    )
    if not stays.exclude(pk=leaving.pk).exists():
        raise LastPI(leaving.project.code)


def _end(row: Membership, *, by: User | None, on_end: str, why: str) -> None:
    row.ends_at, row.ended_by, row.on_end, row.ended_why = timezone.now(), by, on_end, why[:300]
    row.save(update_fields=["ends_at", "ended_by", "on_end", "ended_why"])
