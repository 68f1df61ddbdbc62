"""A dataset's own life: registered, changed, approved, retired; and who its steward is."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts import hints
from accounts.models import User
from audit import trail
from audit.actions import Action
from datasets.models import Dataset, DatasetState, DatasetVersion, PartRole, Terms
from datasets.services import rights
from projects.models import Project

CHANGEABLE = (
    "name", "description", "classification", "licence", "retention", "is_listed", "downloads", "agreement",
    "legal_basis", "controller", "processor", "ethics", "ethics_not_applicable", "transfer", "transfer_details",
)  # fmt: skip


class Incomplete(Exception):
    """What is still missing for approval; `fields` are Dataset's own, "terms" and "version"."""

    def __init__(self, fields: list[str]) -> None:
        super().__init__(", ".join(fields))
        self.fields = fields


class NotDraft(Exception):
    """It was approved or retired already."""


class StillGoverned(Exception):
    """Permissions to use it would outlive the agreement that is to govern it."""


def lock(dataset: Dataset) -> Dataset:
    """The row as it stands now; whoever else changes it waits until this transaction ends."""
    return Dataset.objects.select_for_update(of=("self",)).select_related("project", "steward").get(pk=dataset.pk)


@transaction.atomic
def register(*, project: Project, steward: User, by: User | None, **fields: Any) -> Dataset:
    """A new draft; `fields` are Dataset's own. Raises ValidationError."""
    row = Dataset(project=project, steward=steward, **fields)
    row.full_clean()
    row.save()
    rights.begin(row, steward, PartRole.STEWARD, by=by)
    trail.record(
        Action.DATASET_REGISTERED, by=by, about=row, project=project, code=row.code, classification=row.classification,
        steward=trail.Login(steward.username),
    )  # fmt: skip
    return row


@transaction.atomic
def change(*, dataset: Dataset, by: User | None, **fields: Any) -> Dataset:
    """Change what may be changed; what is approved stays whole. Raises Incomplete, StillGoverned, ValidationError."""
    row = lock(dataset)
    before = {name: getattr(row, name) for name in fields if name in CHANGEABLE}
    after = {name: fields[name] for name in before if fields[name] != before[name]}
    if not after:
        return row
    for name, value in after.items():
        setattr(row, name, value)
    if row.state == DatasetState.APPROVED:
        _whole(row)
    row.full_clean()
    if "agreement" in after:
        _outlived(row)
    row.save(update_fields=list(after))
    trail.record(
        Action.DATASET_CHANGED, by=by, about=row, project=row.project,
        before={name: before[name] for name in after}, after=after,
    )  # fmt: skip
    hints.dataset_changed(row.code)
    return row


def missing(dataset: Dataset) -> list[str]:
    """What stands in the way of approval: fields, terms of use in force, and files to use."""
    return lacking(
        dataset,
        has_terms=Terms.objects.filter(dataset=dataset).exists(),
        has_version=DatasetVersion.objects.filter(dataset=dataset, withdrawn_at=None).exists(),
    )


def lacking(dataset: Dataset, *, has_terms: bool, has_version: bool) -> list[str]:
    """The same, where terms and versions are at hand."""
    return [*dataset.missing(), *(() if has_terms else ("terms",)), *(() if has_version else ("version",))]


def _whole(row: Dataset) -> None:
    """What is approved stays so when its last version is withdrawn: no job gets it, and its facts may still change."""
    found = missing(row)
    if row.state == DatasetState.APPROVED:
        found = [name for name in found if name != "version"]
    if found:
        raise Incomplete(found)


def _outlived(row: Dataset) -> None:
    """A permission that is open now ends with the agreement at the latest."""
    if row.agreement is None:
        return
    open_ones = row.grants.filter(revoked_at=None, ends_on__gte=timezone.now().date())
    if row.agreement.ended_at or open_ones.filter(ends_on__gt=row.agreement.ends_on).exists():
        raise StillGoverned(row.code)


@transaction.atomic
def approve(*, dataset: Dataset, by: User) -> Dataset:
    """It may be asked for and used from now on. Raises NotDraft, Incomplete."""
    row = lock(dataset)
    if row.state != DatasetState.DRAFT:
        raise NotDraft(row.code)
    _whole(row)
    row.state, row.approved_at = DatasetState.APPROVED, timezone.now()
    row.save(update_fields=["state", "approved_at"])
    trail.record(
        Action.DATASET_APPROVED, by=by, about=row, project=row.project, classification=row.classification,
        legal_basis=row.legal_basis,
    )  # fmt: skip
    return row


@transaction.atomic
def retire(*, dataset: Dataset, by: User, why: str = "") -> Dataset:
    """No new use from now on; who used it stays to be read. A second time does nothing."""
    row = lock(dataset)
    if row.state != DatasetState.RETIRED:
        before, row.state, row.retired_at = row.state, DatasetState.RETIRED, timezone.now()
        row.save(update_fields=["state", "retired_at"])
        trail.record(Action.DATASET_RETIRED, by=by, about=row, project=row.project, before=before, why=why)
    return row


@transaction.atomic
def change_steward(*, dataset: Dataset, steward: User, by: User | None, why: str = "") -> Dataset:
    """Another person answers for it; the interval of each stays. The same person changes nothing."""
    row = lock(dataset)
    if row.steward_id == steward.pk:
        return row
    before, row.steward = row.steward, steward
    row.save(update_fields=["steward"])
    rights.end(row, PartRole.STEWARD)
    rights.begin(row, steward, PartRole.STEWARD, by=by)
    hints.dataset_changed(row.code)
    trail.record(
        Action.DATASET_STEWARD_CHANGED, by=by, about=row, project=row.project, why=why,
        before=trail.Login(before.username), after=trail.Login(steward.username),
    )  # fmt: skip
    return row
