"""The datasets a person may name for a job in a project, each with what is missing before it may be used."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet, Subquery

from access import gate
from access.permissions import Permission
from accounts.models import User
from datasets.models import Acceptance, Dataset, DatasetVersion, Grant, Terms
from datasets.services import using
from projects.models import Project

MOST = 8


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """`labels`: its versions, newest first; `missing`: a sentence each, none where it may be used."""

    dataset: Dataset
    labels: Sequence[str]
    missing: Sequence[str]


def offered(*, project: Project, user: User, q: str = "", chosen: Collection[str] = ()) -> tuple[list[Offer], bool]:
    """Those chosen (codes) first, then those that may be used, then the others that match; and whether there are more.

    In five statements, whatever their number.
    """
    rows = gate.allowing(Dataset.objects.all(), user, Permission.DATASET_FIND)
    found = _annotated(rows.filter(code__in=chosen), project, user) if chosen else ()
    more = rows.filter(retired_at=None).exclude(code__in=chosen)
    if q:
        more = more.filter(Q(code__icontains=q) | Q(name__icontains=q))
    others = list(_annotated(more, project, user).order_by("-is_permitted", "code")[: MOST + 1])
    every = [*found, *others[:MOST]]
    grants = list(Grant.objects.in_force().of(project=project, user=user).filter(dataset__in=every))
    return [_offer(one, [row for row in grants if row.dataset_id == one.pk]) for one in every], len(others) > MOST


def _annotated(rows: QuerySet[Dataset], project: Project, user: User) -> Any:
    versions = DatasetVersion.objects.filter(withdrawn_at=None).only("label", "dataset_id").order_by("-created_at")
    latest = Terms.objects.filter(dataset=OuterRef("pk")).order_by("-number")
    permitted = Grant.objects.in_force().of(project=project, user=user).filter(dataset=OuterRef("pk"))
    accepted = Acceptance.objects.filter(terms=OuterRef("latest"), user=user)
    whole = rows.select_related("agreement", "steward").prefetch_related(Prefetch("versions", versions))
    return whole.annotate(
        is_permitted=Exists(permitted), latest=Subquery(latest.values("pk")[:1]),
        number=Subquery(latest.values("number")[:1]),
    ).annotate(accepted=Exists(accepted))  # fmt: skip


def _offer(one: Any, grants: Sequence[Grant]) -> Offer:
    labels = [version.label for version in one.versions.all()]
    missing = using.lacking(one, using.best(one, grants), None if one.accepted else one.number)
    return Offer(one, labels, [*missing, *([] if labels else [using.no_version(one, "", ())])])
