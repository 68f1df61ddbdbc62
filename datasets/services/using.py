"""Datasets that jobs declare: whether they may, and what became of it. Jobs are known by their id alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from access import gate
from access.permissions import Permission
from accounts.models import User
from audit import trail
from audit.actions import Action, Outcome
from datasets.models import Acceptance, Dataset, DatasetState, DatasetUse, DatasetVersion, Grant
from datasets.services import terms
from projects.models import Project

WISH = r"[a-z][a-z0-9-]{1,30}(@[A-Za-z0-9][A-Za-z0-9._-]{0,30})?"  # code, or code@version


class NotPermitted(Exception):
    """Datasets that may not be used as asked: a sentence each, saying what is missing and whom to ask."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(" ".join(reasons))
        self.reasons = list(reasons)
        self.place: int | None = None  # which job of a batch


@dataclasses.dataclass(frozen=True, slots=True)
class Permitted:
    """One dataset a job may use: the version it gets and the permission it is under."""

    dataset: Dataset
    version: DatasetVersion
    grant: Grant

    @property
    def facts(self) -> dict[str, str]:
        """What the job keeps of it."""
        return {
            "code": self.dataset.code, "version": self.version.label, "path": self.version.path,
            "variable": self.dataset.variable,
        }  # fmt: skip


def permitted(*, wanted: Sequence[str], project: Project, user: User) -> list[Permitted]:
    """What the person may use in the project, of these (`code` or `code@version`), now. Raises NotPermitted.

    Within a transaction: permissions are locked, so that none is revoked between this look and the job's row.
    """
    asked = {one.partition("@")[0]: one.partition("@")[2] for one in wanted}
    rows = gate.allowing(Dataset.objects.filter(code__in=asked), user, Permission.DATASET_FIND)
    known = {row.code: row for row in rows.select_related("agreement", "steward", "project")}
    found, reasons = list[Permitted](), list[str]()
    for code, label in asked.items():
        if code not in known:
            reasons.append(_("There is no dataset “%(code)s” that you can see.") % {"code": code})
            continue
        one, said = _one(known[code], label, project, user)
        reasons += said
        found += [one] if one else []
    if reasons:
        raise NotPermitted(reasons)
    return found


def _one(dataset: Dataset, label: str, project: Project, user: User) -> tuple[Permitted | None, list[str]]:
    grant, version = _grant(dataset, project, user), _version(dataset, label)
    said = lacking(dataset, grant, _unaccepted(dataset, user))
    if version is None:
        labels = dataset.versions.filter(withdrawn_at=None).values_list("label", flat=True)[:10]
        said.append(no_version(dataset, label, list(labels)))
    whole = Permitted(dataset, version, grant) if grant and version and not said else None
    return whole, [f"{dataset.code}: {one}" for one in said]


def lacking(dataset: Dataset, grant: Grant | None, terms: int | None) -> list[str]:
    """What stands in the way, a sentence each, and whom to ask. `terms`: the number of those not accepted yet."""
    return list(filter(None, [_state(dataset), _agreement(dataset), _permission(dataset, grant), _terms(terms)]))


def _grant(dataset: Dataset, project: Project, user: User) -> Grant | None:
    """The project's before one's own; the one that lasts longest. One for a purpose the agreement names."""
    rows = Grant.objects.in_force().of(project=project, user=user).filter(dataset=dataset).select_for_update()
    return best(dataset, rows)


def best(dataset: Dataset, rows: Iterable[Grant]) -> Grant | None:
    """Of the permissions in force for a dataset the one that counts."""
    allowed = dataset.agreement.purposes if dataset.agreement else None
    fit = [row for row in rows if allowed is None or row.purpose in allowed]
    return max(fit, key=lambda row: (row.project_id is not None, row.ends_on), default=None)


def _version(dataset: Dataset, label: str) -> DatasetVersion | None:
    """The one asked for, or the newest."""
    rows = dataset.versions.filter(withdrawn_at=None)
    return (rows.filter(label=label) if label else rows).first()


def _state(dataset: Dataset) -> str:
    if dataset.state == DatasetState.APPROVED:
        return ""
    said = _("it is retired and takes no new use.") if dataset.retired_at else _("it is not approved yet.")
    return f"{said} {_whom(dataset)}"


def _whom(dataset: Dataset) -> str:
    return _("Ask its data steward, %(name)s (%(login)s).") % {
        "name": dataset.steward.name, "login": dataset.steward.username,
    }  # fmt: skip


def _agreement(dataset: Dataset) -> str:
    if dataset.agreement is None or dataset.agreement.is_in_force:
        return ""
    day = date_format(dataset.agreement.ended_at or dataset.agreement.ends_on, "SHORT_DATE_FORMAT")
    said = _("its sharing agreement does not hold today (it ends, or ended, on %(day)s).") % {"day": day}
    return f"{said} {_whom(dataset)}"


def _permission(dataset: Dataset, grant: Grant | None) -> str:
    if grant is not None:
        return ""
    said = _("neither the project nor you have a permission to use it today. Ask for one on its page.")
    return f"{said} {_whom(dataset)}"


def _unaccepted(dataset: Dataset, user: User) -> int | None:
    now = terms.in_force(dataset)
    return None if now is None or Acceptance.objects.filter(terms=now, user=user).exists() else now.number


def _terms(number: int | None) -> str:
    if number is None:
        return ""
    said = _("you have not accepted its terms of use, version %(number)d. Accept them on its page.")
    return said % {"number": number}


def no_version(dataset: Dataset, label: str, labels: Sequence[str]) -> str:
    """That it has none, or not this one; and which there are."""
    said = _("it has no version “%(label)s”.") % {"label": label} if label else _("it has no version yet.")
    return f"{said} " + (_("There are: %(labels)s.") % {"labels": ", ".join(labels)} if labels else _whom(dataset))


def usable(user: User) -> ArraySubquery:
    """An annotation of projects: codes of the datasets for which the person has a permission there today."""
    rows = Grant.objects.in_force().of(project=OuterRef("pk"), user=user)
    codes = rows.filter(dataset__state=DatasetState.APPROVED).order_by("dataset__code").values("dataset__code")
    return ArraySubquery(codes.distinct())


def refused(*, reasons: Sequence[str], wanted: Sequence[str], project: Project, by: User) -> None:
    """Write down that a job was refused for its datasets."""
    trail.record(
        Action.DATASET_REFUSED, by=by, project=project, outcome=Outcome.REFUSED, datasets=list(wanted),
        reasons=list(reasons),
    )  # fmt: skip


def declare(*, job: UUID, name: str, datasets: Sequence[Permitted], project: Project, by: User) -> None:
    """A job was asked for that uses these; in the transaction of its row."""
    for one in datasets:
        use = DatasetUse.objects.create(
            job=job, job_name=name, dataset=one.dataset, version=one.version, grant=one.grant, project=project,
            user=by, purpose=one.grant.purpose, access=one.grant.access,
        )  # fmt: skip
        trail.record(Action.DATASET_DECLARED, by=by, **_facts(use))


def _facts(use: DatasetUse) -> dict[str, Any]:
    return {
        "about": use.dataset, "project": use.dataset.project, "version": use.version.label, "job": str(use.job),
        "used_in": use.project.code, "user": trail.Login(use.user.username), "purpose": use.purpose,
        "access": use.access,
    }  # fmt: skip


def started(*, job: UUID, at: datetime | None) -> None:
    """The job runs. A second time (a requeue) says nothing new."""
    for use in _of(job).filter(started_at=None, ended_at=None):
        DatasetUse.objects.filter(pk=use.pk).update(started_at=at or timezone.now())
        trail.record(Action.DATASET_STARTED, **_facts(use))


def ended(*, job: UUID, started_at: datetime | None, at: datetime | None, state: str) -> None:
    """The job is over, also one that never ran or was not seen running."""
    for use in _of(job).filter(ended_at=None):
        began, until = use.started_at or started_at, at or timezone.now()
        DatasetUse.objects.filter(pk=use.pk).update(started_at=began, ended_at=max(until, began or until))
        trail.record(Action.DATASET_ENDED, state=state, started=began, **_facts(use))


def _of(job: UUID) -> Any:
    rows = DatasetUse.objects.filter(job=job).select_related("dataset__project", "version", "project", "user")
    return rows.order_by("pk")
