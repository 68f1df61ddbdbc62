"""The API of a job's curves, as its page draws them."""

from __future__ import annotations

from typing import Any, Literal, cast
from uuid import UUID

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from accounts.models import User
from jobs.services import metrics, reading

router = Router()
Point = tuple[float, float, int]


class OfTask(Schema):
    """Of an array: which task."""

    task: int | None = Field(None, ge=0, le=2**31 - 1)


class CurveOut(Schema):
    """A point is [step, value, byte of the line that says so]; `last` and `best` are exact, points are thinned out."""

    name: str
    less_is_better: bool
    seen: int
    last: Point | None
    best: Point | None
    points: list[Point]


class CurvesOut(Schema):
    """`source` is where they stood, empty where there are none; `counted_by` what counts the steps."""

    source: Literal["metrics", "output", ""]
    counted_by: str
    is_whole: bool = Field(description="False where the file is longer than what is looked through.")
    curves: list[CurveOut]


@router.get("/{uuid:pk}/curves", response=CurvesOut, operation_id="job_curves")
def job_curves(request: HttpRequest, pk: UUID, of: Query[OfTask]) -> dict[str, Any]:
    """The numbers a job printed or wrote down: of its metrics file, else of its output; of a task: of its output."""
    job = reading.fetch_to_take(request.user, pk)
    return metrics.told(metrics.of(job=job, by=cast(User, request.user), task=of.task))
