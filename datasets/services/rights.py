"""The django-guardian grants that follow from the parts people have in datasets; nobody else writes them."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import Permission as PermissionRow
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q
from django.utils import timezone

from access.permissions import Permission, codename
from accounts import hints
from accounts.models import User
from datasets.models import Dataset, DatasetRight, Grant, Part, PartRole
from projects.models import Membership

BRINGS = {
    PartRole.STEWARD: frozenset({codename(Permission.DATASET_VIEW), codename(Permission.DATASET_STEWARD)}),
    PartRole.USER: frozenset({codename(Permission.DATASET_VIEW)}),
}


def expected(dataset: Dataset, now: datetime | None = None) -> set[tuple[int, str]]:
    """(user id, codename) pairs that the parts in force call for."""
    now = now or timezone.now()
    rows = Part.objects.filter(Q(ends_at=None) | Q(ends_at__gt=now), dataset=dataset, starts_at__lte=now)
    return {(user, name) for user, role in rows.values_list("user_id", "role") for name in BRINGS[PartRole(role)]}


def held(dataset: Dataset) -> set[tuple[int, str]]:
    """(user id, codename) pairs that django-guardian has."""
    rows = DatasetRight.objects.filter(content_object=dataset)
    return set(rows.values_list("user_id", "permission__codename"))


def settle(dataset: Dataset) -> None:
    """Just what the parts call for: what is missing is added, the rest taken away."""
    wanted, there = expected(dataset), held(dataset)
    for user, name in there - wanted:
        DatasetRight.objects.filter(content_object=dataset, user=user, permission__codename=name).delete()
    kind = ContentType.objects.get_for_model(Dataset)
    rows = {row.codename: row for row in PermissionRow.objects.filter(content_type=kind)}
    DatasetRight.objects.bulk_create(
        [
            DatasetRight(content_object=dataset, user_id=user, permission=rows[name])
            for user, name in sorted(wanted - there)
        ],
        ignore_conflicts=True,
    )


def begin(dataset: Dataset, user: User, role: PartRole, *, by: User | None, until: datetime | None = None) -> None:
    """A part from now on."""
    Part.objects.create(dataset=dataset, user=user, role=role, by=by, ends_at=until)
    settle(dataset)


def end(dataset: Dataset, role: PartRole, *, user: User | None = None) -> None:
    """The parts of this kind (of this person) end now."""
    now = timezone.now()
    rows = Part.objects.filter(Q(ends_at=None) | Q(ends_at__gt=now), dataset=dataset, role=role)
    (rows.filter(user=user) if user else rows).update(ends_at=now)
    settle(dataset)


def tell(grant: Grant) -> None:
    """Open pages of whoever this permission was for ask anew what they may read."""
    people = [grant.user_id] if grant.user_id else []
    if grant.project_id:
        people += Membership.objects.active().filter(project=grant.project_id).values_list("user_id", flat=True)
    for person in filter(None, people):
        hints.rights_changed(person)
    hints.dataset_changed(grant.dataset.code)
