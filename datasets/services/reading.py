"""Who may read the output of a job that used datasets: for personal data it takes a permission of the reader, too."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Subquery
from django.utils import timezone

from accounts.models import User
from datasets.models import Acceptance, DatasetUse, Grant, Terms
from projects.models import Membership


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """One dataset of a job as it stands now, for one reader."""

    use: DatasetUse
    may_read: bool  # the reader, the outputs: where the dataset is personal, by a permission and accepted terms
    holds: bool  # the permission that the job was submitted under still does

    @property
    def may_download(self) -> bool:
        """Whether outputs may be taken away at all."""
        return self.use.dataset.downloads


def standings(job: UUID, reader: User) -> Sequence[Standing]:
    """Each dataset of the job, in one query."""
    now = timezone.now()
    rows = DatasetUse.objects.filter(job=job).select_related(
        "dataset__agreement", "dataset__steward", "version", "grant", "project"
    )
    member = Membership.objects.active(now).filter(project=OuterRef("project"), user=reader)
    permission = Grant.objects.in_force(now.date()).filter(dataset=OuterRef("dataset"))
    latest = Terms.objects.filter(dataset=OuterRef("dataset")).order_by("-number").values("pk")[:1]
    found: Any = rows.annotate(
        is_member=Exists(member),
        by_project=Exists(permission.filter(project=OuterRef("project"))),
        by_person=Exists(permission.filter(user=reader)),
        latest=Subquery(latest),
    ).annotate(accepted=Exists(Acceptance.objects.filter(terms=OuterRef("latest"), user=reader)))
    return [Standing(use, _may_read(use, reader), use.grant.is_in_force) for use in found.order_by("dataset__code")]


def _may_read(use: Any, reader: User) -> bool:
    dataset = use.dataset
    if not dataset.is_personal or dataset.steward_id == reader.pk:
        return True
    governed = dataset.agreement is None or dataset.agreement.is_in_force
    permitted = use.by_person or (use.by_project and use.is_member)
    return governed and permitted and (use.accepted or use.latest is None)
