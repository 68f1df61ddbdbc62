"""What the table of a project's people shows of each; plain values, so that the same row is drawn once."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from typing import Any, NamedTuple

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.roles import Role
from projects.forms import RoleForm
from projects.models import Membership

HISTORY = _("History")
CHANGE = _("Change")
LEAVE = _("Leave")


class MemberLine(NamedTuple):
    """One person in one project, as this reader sees them (see the tag `kept`)."""

    project: str
    username: str
    name: str
    initials: str
    role: str
    missing: bool
    since: date
    until: date | None
    act: str  # what the link to their own page is called; none without

    @classmethod
    def of(cls, member: Membership, project: Any, *, missing: Collection[str], is_me: bool) -> MemberLine:
        """`project` as `jobs.views.project.with_rights` reads it; `missing` are logins the cluster does not know."""
        person = member.user
        act = HISTORY if project.may_manage else LEAVE if is_me else ""
        if project.may_manage and (project.may_lead or member.role != Role.PI):
            act = CHANGE
        return cls(
            project.code, person.username, person.name, person.initials, str(member.get_role_display()),
            person.username in missing, timezone.localdate(member.starts_at),
            timezone.localdate(member.ends_at) if member.ends_at else None, str(act),
        )  # fmt: skip


class BlankRole(NamedTuple):
    """The empty fields of a role to give, the same for everybody who may give the same."""

    with_pi: bool

    @property
    def form(self) -> RoleForm:
        """With nothing in it."""
        return RoleForm(with_pi=self.with_pi)
