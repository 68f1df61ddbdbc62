"""What Prometheus is told: requests by route as they are served, and the state of the rows when it asks.

With PROMETHEUS_MULTIPROC_DIR (a folder of the web server's own) all its processes are counted together.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import connection
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from prometheus_client import CollectorRegistry, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE
from prometheus_client.multiprocess import MultiProcessCollector

from access.ids import first_at
from cluster.models import Cluster
from jobs.models import Handover, HandoverOutcome, Intent, IntentKind, Job
from jobs.states import State

__all__ = ["CONTENT_TYPE", "exposition", "timed"]

TOGETHER = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "")
QUEUES = ("default", "slurm")
OPEN_OUTCOMES = ("trying", "unknown")
disable_created_metrics()
if TOGETHER:
    Path(TOGETHER).mkdir(parents=True, exist_ok=True)
registry = CollectorRegistry()
REQUESTS = Histogram(
    "bancada_request_seconds",
    "Time to answer a request.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    registry=registry,
)
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})
_BOUNDED = {"socket_timeout": 1.0, "socket_connect_timeout": 1.0}
Next = Callable[[HttpRequest], HttpResponseBase]
Sample = tuple[dict[str, str], float]


def timed(get_response: Next) -> Next:
    """Count each request under its route (never its address) and its class of status."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        response = get_response(request)
        match = request.resolver_match
        route = match.route if match else "none"
        method = request.method if request.method in _METHODS else "other"
        status = f"{response.status_code // 100}xx"
        REQUESTS.labels(method, route, status).observe(time.perf_counter() - began)
        return response

    return middleware


def exposition() -> bytes:
    """All of it, as Prometheus reads it."""
    told = CollectorRegistry()
    told.register(_Rows())
    if TOGETHER:
        MultiProcessCollector(told)
        return generate_latest(told)
    return generate_latest(told) + generate_latest(registry)


class _Rows:
    """Gauges read at the moment of the question; what cannot be read is named, the rest is told."""

    def collect(self) -> Iterator[Metric]:
        """Every gauge that can be had."""
        failed: list[Sample] = []
        for gauges in (_jobs, _handovers, _intents, _follower, _queues, _trail, _memory):
            try:
                yield from list(gauges())
            except Exception as error:
                failed.append(({"metrics": gauges.__name__.strip("_"), "error": type(error).__name__}, 1))
        if failed:
            yield _gauge("bancada_metrics_unavailable", "Metrics that could not be read just now.", failed)


def _gauge(name: str, about: str, samples: Iterable[Sample]) -> Metric:
    known = list(samples)
    family = GaugeMetricFamily(name, about, labels=list(known[0][0]) if known else [])
    for labels, value in known:
        family.add_metric(list(labels.values()), value)
    return family


def _by(field: str, rows: QuerySet[Any], all_of: Iterable[str]) -> list[Sample]:
    """Rows counted by a field, zeros included."""
    counted = dict(rows.order_by().values_list(field).annotate(Count("pk")))
    return [({field: name}, counted.get(name, 0)) for name in all_of]


def _jobs() -> Iterator[Metric]:
    yield _gauge("bancada_open_jobs", "Jobs that are not over.", _by("state", Job.objects.open(), State.values))


def _handovers() -> Iterator[Metric]:
    under_way = Handover.objects.filter(outcome__in=OPEN_OUTCOMES)
    yield _gauge("bancada_open_handovers", "Ends not known yet.", _by("outcome", under_way, OPEN_OUTCOMES))
    lately = Handover.objects.filter(pk__gte=first_at(time.time() - 3600))
    samples = _by("outcome", lately, HandoverOutcome.values)
    yield _gauge("bancada_handovers_last_hour", "Begun in the last hour, by outcome.", samples)


def _intents() -> Iterator[Metric]:
    waiting = Intent.objects.filter(done_at=None)
    yield _gauge("bancada_open_intents", "What is still to be done in Slurm.", _by("kind", waiting, IntentKind.values))


def _follower() -> Iterator[Metric]:
    row = Cluster.objects.filter(name=settings.CLUSTER_NAME).first()
    if row is None:
        return
    seen = {"jobs": row.jobs_seen_at, "nodes": row.nodes_seen_at, "accounting": row.accounting_seen_at}
    now = timezone.now()
    ages = [({"picture": name}, (now - at).total_seconds()) for name, at in seen.items() if at]
    yield _gauge("bancada_picture_age_seconds", "Age of what the follower last saw.", ages)
    yield _gauge("bancada_slurm_answers", "Whether slurmctld answered the last time.", [({}, int(not row.unreachable))])


def _queues() -> Iterator[Metric]:
    with current_app.connection_for_read(transport_options=_BOUNDED, connect_timeout=1) as link:
        channel = link.default_channel
        depths = [({"queue": name}, channel.queue_declare(name, durable=True).message_count) for name in QUEUES]
    yield _gauge("bancada_queue_messages", "Bells that nobody has heard yet.", depths)


def _trail() -> Iterator[Metric]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT greatest(reltuples, 0) FROM pg_class WHERE oid = 'audit_auditevent'::regclass")
        estimate = float(cursor.fetchone()[0])
    yield _gauge("bancada_audit_rows", "Rows of the trail, as PostgreSQL last estimated them.", [({}, estimate)])


def _memory() -> Iterator[Metric]:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    used = pages * os.sysconf("SC_PAGE_SIZE")
    yield _gauge("bancada_resident_bytes", "Memory of the process that answers.", [({}, used)])
