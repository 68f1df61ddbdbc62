"""The floor under every page: tests.bench.floor_page, served as the portal's web is, inside the stack, on its PostgreSQL."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator

from tests.bench.place import Client, Place, until

NAME = "bench_floor"  # a database of its own, which goes away afterwards
USER = "bancada-postgres"  # may be the superuser by peer; all it does is read
FOLDER = "run/pg"
PYTHON = "/srv/bancada/.venv/bin/python"
TABLE = """
CREATE UNLOGGED TABLE audit (id bigint GENERATED ALWAYS AS IDENTITY, at timestamptz NOT NULL, actor_id int NOT NULL,
  action text NOT NULL, object_type text NOT NULL, object_id bigint, address inet);
INSERT INTO audit (at, actor_id, action, object_type, object_id, address)
SELECT now() - g * interval '3 seconds', g % 2000, (array['sign in', 'submit', 'view', 'log'])[1 + g % 4],
  (array['job', 'project', 'user'])[1 + g % 3], g, ('10.' || g % 200 || '.0.' || g % 250)::inet
FROM generate_series(1, {rows}) g;
ALTER TABLE audit ADD PRIMARY KEY (id);
CREATE INDEX ON audit (at DESC, id DESC);
ANALYZE audit
"""


@contextlib.contextmanager
def page(place: Place, *, small: bool) -> Iterator[Client]:
    """Somebody signed in there, ready to ask for "/"."""
    with contextlib.closing(place.connect("postgres")) as server:
        server.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {NAME}")
        try:
            _fill(place, 10_000 if small else 1_000_000)
            said = place.inside_as(USER, "sh", "-c", f"cd /srv/bancada && {PYTHON} -m tests.bench.floor_page")
            with _serving(place):
                yield Client(f"unix:{place.inside}/{FOLDER}/floor.sock", Cookie=f"sessionid={said.split()[-1]}")
        finally:
            server.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")


def _fill(place: Place, rows: int) -> None:
    with contextlib.closing(place.connect(NAME)) as database:
        for statement in TABLE.format(rows=rows).split(";"):
            database.execute(statement)


@contextlib.contextmanager
def _serving(place: Place) -> Iterator[None]:
    """Two workers of eight threads, as the portal has them."""
    socket = f"/srv/var/{FOLDER}/floor.sock"
    options = f"-k gthread --workers 2 --threads 8 --bind unix:{socket} --worker-tmp-dir /srv/var/{FOLDER}"
    line = (
        f"cd /srv/bancada && exec {PYTHON} -m gunicorn --no-control-socket {options} tests.bench.floor_page:application"
    )
    server = place.popen(USER, "sh", "-c", line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: (place.inside / FOLDER / "floor.sock").exists(), seconds=60, what="the bare page is served")
        yield
    finally:
        server.terminate()
        server.wait()
