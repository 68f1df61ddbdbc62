"""What of the lists' measurement runs beside PostgreSQL; arguments: database, host, few jobs, many jobs."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import Any

from tests.bench import inside, seed

# each has a full page at both sizes, the last none at either: the worst that can be looked for
PATHS = (
    "/jobs/", "/jobs/?whose=all", "/jobs/?whose=cluster", "/jobs/?gpu=a100", "/jobs/?whose=all&q=seed",
    "/jobs/?whose=all&q=nowhere",
)  # fmt: skip
ROUNDS, WARM = 60, 8


def main() -> None:
    """The last line: path -> [ms at few, queries, ms at many, queries, bytes of a refresh]."""
    os.environ["BANCADA_ALLOWED_HOSTS"] = "testserver"
    name, host, few, many = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    inside.settings(name, host)
    inside.roles()
    from django.conf import settings

    # this copy has no folder of collected files
    settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    user = _people()
    _jobs(few)
    before = _measured(user)
    _jobs(many - few)
    after = _measured(user)
    print(json.dumps({path: [*before[path][:2], *after[path]] for path in PATHS}))


def _people() -> Any:
    """Three projects with members; the first is the reader's."""
    from access.roles import Role
    from tests.factories import make_allocation, make_cluster, make_member, make_project

    make_cluster()
    users = []
    for code in ("visao", "atlas", "clima"):
        project = make_project(code)
        make_allocation(project)
        users += [make_member(project, Role.PI), make_member(project), make_member(project)]
    return users[0]


def _jobs(count: int) -> None:
    """More of them, by the statements of the seed."""
    from django.db import connection, transaction

    rows = seed._ROWS.replace("%(count)s", str(count)).replace("%%", "%")
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in (
            "SET LOCAL statement_timeout = 0",
            rows,
            seed._JOBS,
            "SET CONSTRAINTS ALL IMMEDIATE",
            "DROP TABLE seed",
        ):
            cursor.execute(statement)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("VACUUM ANALYZE jobs_job")
        cursor.execute("RESET statement_timeout")


def _measured(user: Any) -> dict[str, list[float]]:
    """[ms (p50), queries, bytes of a refresh] of each page, the pages turn about."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from tests.pages import signed_in

    browser, times = signed_in(user), {path: list[float]() for path in PATHS}
    for turn in range(-WARM, ROUNDS):
        for path in PATHS:
            began = time.perf_counter()
            answer = browser.get(path, secure=True)
            if answer.status_code != 200:
                raise SystemExit(f"{path}: {answer.status_code}")
            if turn >= 0:
                times[path].append((time.perf_counter() - began) * 1000)
    found = {}
    for path in PATHS:
        with CaptureQueriesContext(connection) as asked:
            part = browser.get(path, secure=True, headers={"HX-Request": "true"})
        found[path] = [statistics.median(times[path]), float(len(asked)), float(len(part.content))]
    return found


if __name__ == "__main__":
    main()
