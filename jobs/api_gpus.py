"""The API of what a job's GPUs and nodes did: charts over time, and what is kept of its GPUs at the end."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from access.permissions import Permission
from accounts.models import User
from cluster.metrics import host_names
from cluster.metrics.charts import POINTS, Band, Chart
from cluster.metrics.hosts import missing
from cluster.metrics.prometheus import Away
from jobs.models import Job
from jobs.services import shapes
from jobs.services.gpus import hosting, reporting, showing

router = Router()
UNITS = {"utilization": "%", "memory": "MiB", "power": "W", "temperature": "°C"} | host_names.UNITS


class Span(Schema):
    """Which part: from `start` in unix seconds, else all of it, or the `last` seconds while it runs, by our clock."""

    start: float | None = Field(None, ge=0, le=1e11)
    last: int = Field(600, ge=1, le=10**8)
    points: int = Field(1000, ge=4, le=POINTS)
    task: int | None = Field(None, ge=0, le=2**31 - 1, description="Of an array: one of its tasks.")


class BandOut(Schema):
    """One reading of one card by steps: least and most, null where nothing was read; `high` is null where alike."""

    card: int
    low: list[float | None]
    high: list[float | None] | None


class ReadingOut(Schema):
    """One reading of all cards."""

    name: str
    unit: str
    bands: list[BandOut]


class CardOut(Schema):
    """One card of the job."""

    node: str
    gpu: str


class ChartOut(Schema):
    """`state`: ok; away: the metrics do not answer; none: nothing to show (yet). Times in unix seconds."""

    state: str
    start: float
    step: float
    steps: int
    cards: list[CardOut]
    readings: list[ReadingOut]


class HostUsageOut(ChartOut):
    """A line a node (`gpu` is empty). `whole_node`: readings of all that runs there; `missing`: not measured there."""

    whole_node: list[str]
    missing: list[str]


class SumOut(Schema):
    """One card over the whole run: % and MiB and W; null where nothing was read."""

    node: str
    gpu: str
    mean: float | None
    most: float | None
    memory: float | None
    memory_total: float | None
    power: float | None
    temperature: float | None
    active_share: float | None
    longest_idle: float
    measured: float


class ComparedOut(Schema):
    """One measure, a share of what was asked for: of this job, and usual in the person's last `jobs` of its name."""

    measure: str
    own: float
    usual: float
    jobs: int


class SummaryOut(Schema):
    """What is kept of a job's GPUs and nodes; `active_hours` is null where too little was read to tell.

    `nodes`: by node the readings measured there: means, the highest as "cpu_most", MiB in all (docs/metrics.md).
    """

    kept: bool
    seconds: float
    gpu_hours: float
    active_hours: float | None
    cards: list[SumOut]
    nodes: dict[str, dict[str, float]]
    compared: list[ComparedOut]
    advice: list[str]


@router.get("/{uuid:pk}/gpus", response=ChartOut, operation_id="job_gpus", url_name="job_gpus")
def gpus(request: HttpRequest, pk: UUID, span: Query[Span]) -> dict[str, Any]:
    """What the job's GPUs did: utilization, memory, power, temperature, each with its least and most a step."""
    job = _job(request, pk)
    try:
        found = showing.charts(job=job, by=_person(request), **span.dict())
    except Away:
        return _nothing("away")
    return _out(found) if found and found.cards else _nothing("none")


@router.get("/{uuid:pk}/usage", response=HostUsageOut, operation_id="job_usage", url_name="job_usage")
def usage(request: HttpRequest, pk: UUID, span: Query[Span]) -> dict[str, Any]:
    """CPU, memory, pressure and I/O of the job on each of its nodes; storage and network of the whole nodes."""
    job = _job(request, pk)
    more: dict[str, Any] = {"whole_node": list(host_names.OF_NODE), "missing": []}
    try:
        found = hosting.charts(job=job, by=_person(request), **span.dict())
    except Away:
        return _nothing("away") | more
    if found is None or not found.bands:
        return _nothing("none") | more
    return _out(found) | more | {"missing": missing(found)}


def _job(request: HttpRequest, pk: UUID) -> Job:
    return shapes.LIGHT.fetch(request.user, Permission.JOB_VIEW, pk=pk)


def _person(request: HttpRequest) -> User:
    return cast(User, request.user)


def _nothing(state: str) -> dict[str, Any]:
    return {"state": state, "start": 0, "step": 1, "steps": 0, "cards": [], "readings": []}


def _out(found: Chart) -> dict[str, Any]:
    return {
        "state": "ok", "start": found.start, "step": found.step, "steps": found.steps,
        "cards": [{"node": card.node, "gpu": card.gpu} for card in found.cards],
        "readings": [
            {"name": name, "unit": UNITS[name], "bands": [_band(place, band) for place, band in enumerate(bands)]}
            for name, bands in found.bands.items()
        ],
    }  # fmt: skip


def _band(place: int, band: Band) -> dict[str, Any]:
    return {"card": place, "low": band.low, "high": band.high}


class OfTask(Schema):
    """Of an array: one of its tasks."""

    task: int | None = Field(None, ge=0, le=2**31 - 1)


@router.get("/{uuid:pk}/gpus/summary", response=SummaryOut, operation_id="job_gpu_summary")
def summary(request: HttpRequest, pk: UUID, of: Query[OfTask]) -> dict[str, Any]:
    """What is kept of the GPUs and nodes of a job that is over, or of a task of an array, for ever."""
    job = _job(request, pk)
    kept = reporting.kept(job, of.task)
    if kept is None:
        none: dict[str, Any] = {"cards": [], "nodes": {}, "compared": [], "advice": []}
        return {"kept": False, "seconds": 0, "gpu_hours": 0, "active_hours": None} | none
    told = reporting.report(job, kept)
    showing.note(job=job, by=_person(request))
    return {
        "kept": True, "seconds": kept.seconds, "gpu_hours": told.use.hours, "active_hours": told.use.active_hours,
        "cards": kept.cards, "nodes": told.hosts, "advice": [str(said) for said in told.advice],
        "compared": [
            {"measure": one.key, "own": one.own, "usual": one.usual, "jobs": one.jobs} for one in told.compared
        ],
    }  # fmt: skip
