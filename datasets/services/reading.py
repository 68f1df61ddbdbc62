"""Who may read the output of a job that used datasets: for personal data it takes a permission of the reader, too."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery, Value
from django.utils import timezone

from accounts.models import User
from datasets.models import Acceptance, Dataset, DatasetUse, DatasetVersion, Grant, Terms
from datasets.models.dataset import PERSONAL
from projects.models import Membership, Project


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """One dataset of a job as it stands now, for one reader."""

    use: DatasetUse
    may_read: bool  # the reader, the outputs: where the dataset is personal, by a permission and accepted terms
    holds: bool  # the permission that the job was submitted under still does

    @property
    def dataset(self) -> Dataset:
        """The dataset itself."""
        return self.use.dataset

    @property
    def may_download(self) -> bool:
        """Whether outputs may be taken away at all."""
        return self.use.dataset.downloads


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """A version of a dataset that lies in a project's folder, at a path beneath it, as it stands for one reader."""

    path: str
    dataset: Dataset
    may_read: bool


def standings(job: UUID, reader: User) -> Sequence[Standing]:
    """Each dataset of the job, in one query."""
    rows = DatasetUse.objects.filter(job=job)
    return _standings(rows.select_related(*_OF_USE, "version", "grant", "project"), reader)


def of_project(project: Project, reader: User) -> Sequence[Standing]:
    """Each use of a dataset whose outputs are bound to something, by a job of this project that has run; in one
    query."""
    bound = Q(dataset__downloads=False) | Q(dataset__classification__in=PERSONAL)
    rows = DatasetUse.objects.filter(bound, project=project, started_at__isnull=False)
    return _standings(rows.select_related(*_OF_USE, "grant", "user").order_by(), reader)


def kept_in(project: Project, reader: User) -> list[Kept]:
    """The versions of datasets that lie in the project's folder, or around it, and are bound; in one query.

    Only of the project's own datasets, and of those it was ever given: a stranger's word binds nothing here.
    """
    bound = Q(dataset__downloads=False) | Q(dataset__classification__in=PERSONAL)
    given = Exists(Grant.objects.filter(dataset=OuterRef("dataset"), project=project))
    rows = DatasetVersion.objects.filter(bound, Q(dataset__project=project) | given).select_related(*_OF_USE)
    found = _annotated(rows, reader, Value(project.pk))
    placed = ((_beneath(project.folder, one.path), one) for one in found)
    return [Kept(path, one.dataset, _may_read(one, reader)) for path, one in placed if path is not None]


def _beneath(folder: str, path: str) -> str | None:
    """The path as it is beneath the folder, "" for all of it; None where it lies elsewhere."""
    if f"{folder}/".startswith(f"{path}/"):
        return ""
    return path.removeprefix(f"{folder}/") if path.startswith(f"{folder}/") else None


_OF_USE = ("dataset__agreement", "dataset__steward")


def _standings(rows: QuerySet[DatasetUse], reader: User) -> Sequence[Standing]:
    found = _annotated(rows, reader, OuterRef("project")).order_by("dataset__code")
    return [Standing(use, _may_read(use, reader), use.grant.is_in_force) for use in found]


def _annotated(rows: QuerySet[Any], reader: User, project: Any) -> Any:
    """What decides over reading: memberships, permissions and terms in force, in the same statement."""
    now = timezone.now()
    member = Membership.objects.active(now).filter(project=project, user=reader)
    permission = Grant.objects.in_force(now.date()).filter(dataset=OuterRef("dataset"))
    latest = Terms.objects.filter(dataset=OuterRef("dataset")).order_by("-number").values("pk")[:1]
    return rows.annotate(
        is_member=Exists(member),
        by_project=Exists(permission.filter(project=project)),
        by_person=Exists(permission.filter(user=reader)),
        latest=Subquery(latest),
    ).annotate(accepted=Exists(Acceptance.objects.filter(terms=OuterRef("latest"), user=reader)))


def _may_read(use: Any, reader: User) -> bool:
    dataset = use.dataset
    if not dataset.is_personal or dataset.steward_id == reader.pk:
        return True
    governed = dataset.agreement is None or dataset.agreement.is_in_force
    permitted = use.by_person or (use.by_project and use.is_member)
    return governed and permitted and (use.accepted or use.latest is None)
