"""P12: how long pages take with many jobs and events, beside the bare Django page, each asked in turn."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator

from tests.bench import floor
from tests.bench.accepting import timed
from tests.bench.figures import Figure, pair, quantile
from tests.bench.place import PROJECT, Client, Place
from tests.bench.seed import fill

PERSON, AUDITOR, OPERATOR = "ana", "kenia", "joao"  # PI of PROJECT; site roles
WARM = 8  # requests before any counts: every worker has loaded what it needs


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """Every page against the floor, turn about; --large has a million jobs and ten million events."""
    jobs, events = (10_000, 100_000) if small else (1_000_000, 10_000_000) if large else (100_000, 1_000_000)
    fill(place, jobs, events)
    rounds = 20 if small else 100
    with floor.page(place, small=small) as bare:
        for what, user, path in addresses(place):
            ours, base = in_turn(place.browser(user), bare, path, rounds)
            ratio = quantile(ours, 0.5) / quantile(base, 0.5)
            yield Figure(
                "P12", f"{what}, {jobs:,} jobs and {events:,} events, p50 / p99", pair(ours),
                f"bare Django page {pair(base)}", f"{ratio:.2f}", "p50 ≤ 2.5 ×", ratio <= 2.5,
            )  # fmt: skip


def addresses(place: Place) -> Iterator[tuple[str, str, str]]:
    """(what it is, who asks, path)."""
    job: uuid.UUID = place.one(
        "SELECT j.id FROM jobs_job j JOIN accounts_user u ON u.id = j.owner_id WHERE j.name LIKE 'seed-%%' "
        "AND u.username = %s ORDER BY j.id DESC LIMIT 1", PERSON,
    )  # fmt: skip
    yield "home", PERSON, "/"
    yield "own jobs", PERSON, "/jobs/"
    yield "the project's jobs, failed ones", PERSON, f"/jobs/?whose=all&project={PROJECT}&state=failed"
    yield "all jobs, as an operator", OPERATOR, "/jobs/?whose=all"
    yield "job", PERSON, f"/jobs/{job}?tab=request"
    yield "project", PERSON, f"/projects/{PROJECT}"
    for what, query in searches(place, job):
        yield f"events, {what}", AUDITOR, f"/audit/?{query}"
    yield "cluster", PERSON, "/cluster/"
    yield "cluster, as an operator", OPERATOR, "/cluster/"


def searches(place: Place, job: uuid.UUID) -> Iterator[tuple[str, str]]:
    """(what the trail is searched for, the query)."""
    day = place.one("SELECT (now() - interval '60 days')::date::text")
    yield "the newest", ""
    yield "of one action in one project", f"action=job.submitted&project={PROJECT}"
    yield "of one person", f"who={PERSON}"
    yield "of one job", f"job={job}"
    yield "from one address", "address=127.0.0.1"
    yield "of a day two months ago", f"since={day}&until={day}"


def in_turn(client: Client, bare: Client, path: str, rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of both."""
    ours, base = list[float](), list[float]()
    for number in itertools.count(-WARM):
        if number >= rounds:
            return ours, base
        pair_of_times = timed(client, path), timed(bare)
        if number >= 0:
            ours.append(pair_of_times[0])
            base.append(pair_of_times[1])
    raise AssertionError
