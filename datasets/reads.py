"""What of a dataset's permissions and uses a person sees: all of it, or what is their own and their projects'."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from access import gate
from access.permissions import Permission
from accounts.models import User
from datasets.models import Dataset
from projects.models import Membership

M = TypeVar("M", bound=Model)


def sees_all(row: Any, user: User) -> bool:
    """Its steward, and who reads the trail of its project: PI, manager, administrators, auditors."""
    return gate.can(row.project, user, Permission.TRAIL_READ) or gate.can(row, user, Permission.DATASET_STEWARD)


def own(rows: QuerySet[M], user: User) -> QuerySet[M]:
    """Of requests, permissions or uses: the person's, and those of their projects."""
    mine = Membership.objects.active().filter(user=user).values("project")
    return rows.filter(Q(project__in=mine) | Q(user=user))


def theirs(rows: QuerySet[M], dataset: Dataset, user: User) -> QuerySet[M]:
    """All for who answers for the dataset, else their own."""
    return rows if sees_all(dataset, user) else own(rows, user)
