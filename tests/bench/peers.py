"""G4: the list of 1,000 projects beside ColdFront's, both on the stack's PostgreSQL, each with two workers, asked in turn.

ColdFront comes from PyPI (tests/bench/coldfront.lock) into a virtual environment that is made at the first run.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench.accepting import timed
from tests.bench.figures import Figure, pair, quantile
from tests.bench.place import Client, Place, until

COUNT, MEMBERS, DATABASE, OPERATOR = 1000, 6, "bench_coldfront", "joao"
HERE = Path(__file__).parent
THEIRS, OURS = "/project/?show_all_projects=on", ("/operate/projects",)  # 25 rows a page, both
GOAL = 0.5
_FILL = """
INSERT INTO projects_project (code, title, organization, state, slurm_account, unix_group, folder, partitions,
  classification, created_at, change, is_listed)
SELECT 'bench' || g, 'Bench ' || g, 'Bench', 'active', 'bench' || g, 'bench', '/nonexistent', ARRAY['gpu'], 'internal',
  now(), 1, false FROM generate_series(1, %(count)s) g;
INSERT INTO accounts_user (password, is_superuser, username, first_name, last_name, email, is_staff, is_active,
  date_joined, display_name, site_role, language, theme, single_keys, session_epoch)
SELECT '', false, 'bench' || g, '', '', '', false, true, now(), 'Bench ' || g, '', '', '', true, 0
FROM generate_series(1, 2 * %(count)s) g;
INSERT INTO projects_membership (project_id, user_id, role, starts_at, why, ended_why, on_end)
SELECT p.id, u.id, CASE WHEN m = 0 THEN 'pi' ELSE 'researcher' END, now(), '', '', 'finish'
FROM generate_series(1, %(count)s) g, generate_series(0, %(members)s - 1) m, projects_project p, accounts_user u
WHERE p.code = 'bench' || g AND u.username = 'bench' || (1 + (g * 7 + m * 331) %% (2 * %(count)s));
INSERT INTO quotas_allocation (project_id, code, title, qos, starts_on, gpu_minutes, used_gpu_minutes, is_default,
  gpus_by_type, gpu_minutes_by_type, partitions, deny_on_limit, is_shared, warned_level, mailed_level)
SELECT id, 'main', 'Main', code || '-main', current_date, 60000, 0, true, '{}', '{}', '{}', false, false, 0, 0
FROM projects_project WHERE code LIKE 'bench%%';
"""
_EMPTY = """
DELETE FROM quotas_enforcement WHERE project_id IN (SELECT id FROM projects_project WHERE organization = 'Bench');
DELETE FROM quotas_allocation WHERE project_id IN (SELECT id FROM projects_project WHERE organization = 'Bench');
DELETE FROM projects_membership WHERE project_id IN (SELECT id FROM projects_project WHERE organization = 'Bench');
DELETE FROM projects_project WHERE organization = 'Bench';
DELETE FROM accounts_user WHERE display_name LIKE 'Bench %%';
"""


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """An operator's list here, an administrator's there."""
    rounds = 20 if small else 100
    with filled(place), coldfront(place) as theirs:
        ours = place.browser(OPERATOR)
        for path in OURS:
            mine, other = list[float](), list[float]()
            for number in range(-10, rounds):
                both = timed(ours, path), timed(theirs, THEIRS)
                if number >= 0:
                    mine.append(both[0])
                    other.append(both[1])
            ratio = quantile(mine, 0.5) / quantile(other, 0.5)
            yield Figure(
                "G4", f"`{path}` of {COUNT:,} projects as an operator, p50 / p99", pair(mine),
                f"ColdFront's list {pair(other)}", f"{ratio:.2f}", f"≤ {GOAL} ×", ratio <= GOAL,
            )  # fmt: skip


@contextlib.contextmanager
def filled(place: Place) -> Iterator[None]:
    """1,000 projects in the portal; the worker sleeps meanwhile, so that Slurm hears of none of them."""
    place.stack("stop", "worker-slurm")
    empty(place)
    try:
        for statement in filter(str.strip, _FILL.split(";\n")):
            place.database.execute(statement.encode(), {"count": COUNT, "members": MEMBERS})
        place.database.execute("ANALYZE")
        yield
    finally:
        empty(place)
        place.stack("start", "worker-slurm")


def empty(place: Place) -> None:
    """None of them is left."""
    for statement in filter(str.strip, _EMPTY.split(";\n")):
        place.database.execute(statement.encode())


@contextlib.contextmanager
def coldfront(place: Place) -> Iterator[Client]:
    """ColdFront with its administrator signed in."""
    python = installed(place.var / "bench/coldfront")
    socket = python.parents[1] / "web.sock"
    with contextlib.closing(place.connect("postgres")) as server:
        server.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {DATABASE}")
        try:
            session = prepared(place, python)
            with serving(place, python, socket):
                yield Client(f"unix:{socket}", Host="localhost", Cookie=f"sessionid={session}")
        finally:
            server.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")


def installed(folder: Path) -> Path:
    """The Python of its virtual environment."""
    python = folder / "bin/python"
    if not (folder / "bin/coldfront").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        lock = HERE / "coldfront.lock"
        subprocess.run([python, "-m", "pip", "install", "-qq", "--require-hashes", "-r", lock], check=True)
    return python


def environment(place: Place, python: Path) -> dict[str, str]:
    """What ColdFront is told: the stack's PostgreSQL, as its superuser."""
    return {
        "PATH": f"{python.parent}:/usr/bin:/bin", "DB_URL": f"psql://postgres@/{DATABASE}",
        "PGHOST": str(place.inside / "run/pg"), "SECRET_KEY": "bench", "DEBUG": "False", "ALLOWED_HOSTS": "localhost",
        "STATIC_ROOT": str(python.parents[1] / "static"), "TIME_ZONE": "UTC", "HOME": str(python.parents[1]),
    }  # fmt: skip


def prepared(place: Place, python: Path) -> str:
    """Tables, static files, 1,000 projects; the session of the administrator."""
    env, command = environment(place, python), str(python.parent / "coldfront")
    for words in (["initial_setup", "-f"], ["collectstatic", "--noinput", "-v", "0"]):
        subprocess.run([command, *words], env=env, check=True, capture_output=True)
    seed = (HERE / "coldfront_seed.py").read_text()
    done = subprocess.run([command, "shell", "-c", seed], env=env, check=True, capture_output=True, text=True)
    with contextlib.closing(place.connect(DATABASE)) as database:
        database.execute("VACUUM ANALYZE")
    return next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("SESSION"))


@contextlib.contextmanager
def serving(place: Place, python: Path, socket: Path) -> Iterator[None]:
    """Two workers of eight threads, as the portal has them."""
    options = ["-k", "gthread", "-w", "2", "--threads", "8", "--bind", f"unix:{socket}", "--log-level", "warning"]
    line = [str(python), "-m", "gunicorn", *options, "coldfront.config.wsgi:application"]
    socket.unlink(missing_ok=True)
    env = os.environ | environment(place, python)
    server = subprocess.Popen(line, env=env, cwd=python.parents[1], stdout=subprocess.DEVNULL)
    try:
        until(socket.exists, seconds=60, what="ColdFront is served")
        yield
    finally:
        server.terminate()
        server.wait()
