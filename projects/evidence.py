"""What projects answer to an auditor: who was in one on a day and as what, and what is held on a person."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.evidence import open_at
from accounts.models import User
from audit import could, persons, things
from audit.could import Asked, Could, Rights
from audit.persons import Section
from projects.models import JoinRequest, Membership, Project, ProjectRequest


def register() -> None:
    """Called once, when the app is there."""
    things.register("project", lambda code: Project.objects.filter(code=code))
    could.register("memberships", memberships)
    persons.register("projects", tell=told, hinder=hindrances)


def memberships(asked: Asked, rights: Rights) -> Iterator[Could]:
    """Whose membership was in force, and who was not closed."""
    rows = Membership.objects.active(asked.at).filter(open_at(asked)).select_related("user", "project", "by")
    if asked.person:
        rows = rows.filter(user__username=asked.person)
    if asked.project:
        rows = rows.filter(project__code=asked.project)
    for row in rows if asked.person or asked.project or not asked.dataset else rows.none():
        yield Could(
            "project", row.user.username, row.user.name, row.project.code, row.role, rights.of_project(row.role),
            row.starts_at, row.ends_at, row.by.username if row.by else "", row.why,
        )  # fmt: skip


def hindrances(person: User) -> Iterator[str | Promise]:
    """Whoever is in a project is somebody there."""
    codes = Membership.objects.active().filter(user=person).values_list("project__code", flat=True)
    if codes:
        yield _("is in projects: %(codes)s") % {"codes": ", ".join(sorted(codes))}


def told(person: User) -> Iterator[Section]:
    """Memberships and what was asked for."""
    rows = Membership.objects.filter(user=person).select_related("project").order_by("-starts_at")
    yield Section(
        _("Memberships"), "projects_membership", _("to know who may do what, and who could on a date"),
        (_("project"), _("role"), _("from"), _("until"), _("why")),
        tuple((row.project.code, row.role, row.starts_at, row.ends_at, row.why) for row in rows),
    )  # fmt: skip
    asked = [*ProjectRequest.objects.filter(asked_by=person), *JoinRequest.objects.filter(asked_by=person)]
    yield Section(
        _("Requests"), "projects_projectrequest, projects_joinrequest", _("to decide on them, and to show why"),
        (_("when"), _("what"), _("justification"), _("state")),
        tuple((row.asked_at, str(row), row.why, row.state) for row in asked),
    )  # fmt: skip
