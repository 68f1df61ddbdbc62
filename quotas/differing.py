"""Projects whose picture in Slurm is not whole: those that differ, failed, or wait to be told, in plain words."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, OuterRef, Q, QuerySet
from django.db.models.functions import JSONObject

from projects.models import Project
from quotas import standing, words
from quotas.models import Allocation
from quotas.services import drift
from quotas.standing import Standing

MOST = 200  # shown at once


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One project whose picture in Slurm is not whole; `can_adopt`: the portal has a place for what Slurm holds."""

    project: Project
    standing: Standing
    sentences: Sequence[words.Sentence]
    can_adopt: bool


def _titles() -> ArraySubquery:
    rows = Allocation.objects.filter(project=OuterRef("pk"))
    return ArraySubquery(rows.values(facts=JSONObject(qos="qos", title="title")))


def troubled() -> QuerySet[Project]:
    """Projects that differ, that could not be applied, or of which Slurm has not heard yet."""
    late = Q(enforcement=None) | Q(change__gt=F("enforcement__change_applied"))
    differ = ~Q(enforcement__differences=[]) & Q(enforcement__isnull=False)
    wrong = late | differ | (Q(enforcement__isnull=False) & ~Q(enforcement__error=""))
    return Project.objects.filter(wrong).select_related("enforcement").annotate(titles=_titles()).order_by("code")


def lines(rows: QuerySet[Project]) -> list[Line]:
    """These projects in words."""
    return [_line(row) for row in rows]


def _line(row: Any) -> Line:
    found: list[dict[str, Any]] = row.enforcement.differences if hasattr(row, "enforcement") else []
    titles = {one["qos"]: one["title"] for one in row.titles}
    return Line(row, standing.of(row), words.differences(found, titles), drift.can_adopt(found, titles))
