"""Environments of a project: asked for, settled when their job has ended, retired, offered again, and found by name."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from access.numbers import whole
from accounts.models import User
from audit import trail
from audit.actions import Action, Outcome
from presets.building import Built
from presets.models import Environment, Kind, Software
from presets.models.environment import LONGEST
from projects.models import Project

MOST_OFFERED = 200


class StillBuilding(Exception):
    """One of this name is being built; says which."""


class WrongFile(Exception):
    """The text cannot be what it is said to be; says why, in the asker's language."""


def draft(*, project: Project, name: str, kind: str, text: str, python: str, by: User) -> Environment:
    """The next build of this name (not saved, without its job). Raises ValidationError, WrongFile, StillBuilding."""
    rows = Environment.objects.filter(project=project, name=name)
    last = rows.order_by("-number").values_list("number", flat=True).first() or 0
    row = Environment(
        project=project, name=name, number=last + 1, kind=kind, text=_plain(text), python=python, by=by,
        job=UUID(int=0),
    )  # fmt: skip
    row.full_clean(validate_unique=False, validate_constraints=False)
    _check(row)
    if waiting := rows.building().first():
        raise StillBuilding(_("%(name)s is being built just now. Wait for it.") % {"name": waiting.title})
    return row


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check(row: Environment) -> None:
    if "\x00" in row.text or any("\ud800" <= char <= "\udfff" for char in row.text):
        raise WrongFile(_("This is not a text file."))
    if len(row.text.encode()) > LONGEST:
        raise WrongFile(_("The file is longer than %(n)d kB.") % {"n": LONGEST // 1024})
    if row.kind == Kind.CONDA and not row.text.strip():
        raise WrongFile(_("Paste the text of your environment.yml."))
    if row.kind == Kind.CONDA and row.python:
        raise WrongFile(_("For conda the version of Python stands in environment.yml."))


@transaction.atomic
def asked(*, row: Environment, job: UUID, by: User) -> Environment:
    """Written down with the job that builds it."""
    row.job = job
    row.save(force_insert=True)
    trail.record(Action.ENVIRONMENT_ASKED, by=by, about=row, project=row.project, environment=row.title,
                 kind=row.kind, python=row.python, text=row.text[:2000], job=str(job))  # fmt: skip
    return row


@transaction.atomic
def ready(*, row: Environment, built: Built) -> None:
    """Its job has built it; the lock stays from now on. A second time does nothing."""
    row = _lock(row)
    if row.ready_at is None and row.failed_at is None:
        row.ready_at, row.lock, row.digest = timezone.now(), built.lock, built.digest
        row.size, row.found_python = built.size, built.python[:40]
        row.save(update_fields=["ready_at", "lock", "digest", "size", "found_python"])
        trail.record(Action.ENVIRONMENT_BUILT, by=None, about=row, project=row.project, environment=row.title,
                     digest=row.digest, size=row.size)  # fmt: skip


@transaction.atomic
def failed(*, row: Environment, why: str) -> None:
    """Its job ended without it. A second time does nothing."""
    row = _lock(row)
    if row.ready_at is None and row.failed_at is None:
        row.failed_at, row.why = timezone.now(), why[:40]
        row.save(update_fields=["failed_at", "why"])
        trail.record(Action.ENVIRONMENT_BUILT, outcome=Outcome.FAILED, by=None, about=row, project=row.project,
                     environment=row.title, why=row.why)  # fmt: skip


@transaction.atomic
def retire(*, environment: Environment, by: User) -> None:
    """It is no longer offered; who names it is warned. A second time does nothing."""
    row = _lock(environment)
    if row.retired_at is None:
        row.retired_at = timezone.now()
        row.save(update_fields=["retired_at"])
        trail.record(Action.ENVIRONMENT_RETIRED, by=by, about=row, project=row.project, environment=row.title)


@transaction.atomic
def offer_again(*, environment: Environment, by: User) -> None:
    """It is offered again. A second time does nothing."""
    row = _lock(environment)
    if row.retired_at is not None and row.deleted_at is None:
        row.retired_at = None
        row.save(update_fields=["retired_at"])
        trail.record(Action.ENVIRONMENT_OFFERED, by=by, about=row, project=row.project, environment=row.title)


@transaction.atomic
def deleted(*, environment: Environment, by: User) -> None:
    """Its files are gone; what it was stays known. A second time does nothing."""
    row = _lock(environment)
    if row.deleted_at is None:
        row.deleted_at = timezone.now()
        row.save(update_fields=["deleted_at"])
        trail.record(Action.ENVIRONMENT_DELETED, by=by, about=row, project=row.project, environment=row.title)


def _lock(row: Environment) -> Environment:
    return Environment.objects.select_for_update(of=("self",)).select_related("project").get(pk=row.pk)


def named(title: str) -> Environment | None:
    """The build that a request names in full, as "project/name@2"; whatever has become of it."""
    whole, _sign, number = title.partition("@")
    code, slash, name = whole.partition("/")
    if not slash or not _is_number(number):
        return None
    rows = Environment.objects.filter(project__code=code, name=name, number=int(number))
    return rows.select_related("project").first()


def of_project(project: Project, name: str) -> Environment | None:
    """By "name", its newest build that is offered, or "name@2", that one; either may stand behind "project/"."""
    whole, sign, number = name.strip().partition("@")
    code, slash, word = whole.rpartition("/")
    if "\x00" in name or (slash and code != project.code):
        return None
    rows = Environment.objects.there().filter(project=project, name=word).select_related("project")
    if not sign:
        return rows.filter(retired_at=None).first()
    return rows.filter(number=int(number)).first() if _is_number(number) else None


def _is_number(text: str) -> bool:
    return whole(text, digits=8) is not None


def offered_software(project: Project) -> Sequence[Environment | Software]:
    """What a request of the project may name: its own environments, then the site's."""
    own = Environment.objects.there().filter(project=project, retired_at=None).select_related("project")
    own = own.defer("lock", "text").order_by("name", "-number")
    return [*own[:MOST_OFFERED], *Software.objects.filter(retired_at=None)[:MOST_OFFERED]]
