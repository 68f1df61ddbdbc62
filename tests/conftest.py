"""People, projects and a fake cluster; every test runs under the database role of the process it stands for."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_ENV = {
    "DJANGO_SETTINGS_MODULE": "portal.settings",  # here and not in pyproject.toml: it needs the rest set before
    "BANCADA_SECRET_KEY": "unit-tests-only-0123456789abcdef0123456789abcdef",
    "BANCADA_PUBLIC_URL": "http://127.0.0.1:8000",
    "BANCADA_ALLOW_PLAIN_HTTP": "1",
    "BANCADA_ALLOWED_HOSTS": "testserver,127.0.0.1",
    "BANCADA_STATIC_STORAGE": "django.contrib.staticfiles.storage.StaticFilesStorage",
    "BANCADA_STATIC_ROOT": str(ROOT / "var" / "no-static"),  # empty: every test client would look through it anew
    "BANCADA_TRUSTED_PROXIES": "1",
    "SLURM_URL": "fake:unit",
    "BANCADA_LOG_LEVEL": "ERROR",
}
for _name, _value in _ENV.items():
    os.environ.setdefault(_name, _value)
Path(os.environ["BANCADA_STATIC_ROOT"]).mkdir(parents=True, exist_ok=True)


def _database() -> str:
    """The address of a PostgreSQL to test in: the one given, else a private one under var/unit."""
    given = os.environ.get("BANCADA_TEST_DATABASE_URL")
    if given:
        return given
    var = ROOT / "var" / "unit"
    done = subprocess.run(
        [sys.executable, "-m", "stack", "postgres", "--var", str(var)], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"no PostgreSQL for the tests: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip().splitlines()[-1]


os.environ["DATABASE_URL"] = _database() if "DATABASE_URL" not in os.environ else os.environ["DATABASE_URL"]

import django  # noqa: E402
import pytest  # noqa: E402
from django.db import connection  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

# one slow example tells of a busy machine, not of the code
settings.register_profile("bancada", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("bancada")
django.setup()  # pytest-django does so only where it knew the settings before this file

from tests import fate  # noqa: E402

fate.install()  # before any test takes a service's name


def pytest_collection_finish() -> None:
    """What stands at the start stays to the end: a tenth of a run's time went into looking for garbage among it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(request: pytest.FixtureRequest, django_db_blocker: object) -> None:
    """Each helper of a run may name its own test database; a new one is copied from the one with all migrations."""
    from django.db import connection

    from tests import template

    name = os.environ.get("BANCADA_TEST_DB", "test_bancada")
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    wanted = {"NAME": f"{name}_{worker}" if worker else name}
    connection.settings_dict.setdefault("TEST", {}).update(wanted)
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        template.use(wanted, anew=request.config.getoption("create_db"))


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: object) -> None:
    """Roles and grants as in production, on top of the test database."""
    from portal.management.commands.setup_roles import create_roles, grant
    from tests import emptying

    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        create_roles()
        grant()
    emptying.install()


@pytest.fixture(scope="session", autouse=True)
def declared_events() -> None:
    """Whatever our code records in any test is what the catalogue of events says it may record."""
    from audit import catalogue, trail

    made = trail.event

    def checked(action: str, **facts: object) -> object:
        found, caller = made(action, **facts), sys._getframe(1)  # type: ignore[arg-type]
        while caller.f_back and caller.f_code.co_filename == trail.__file__:
            caller = caller.f_back
        if str(ROOT / "tests") not in caller.f_code.co_filename:
            entry = catalogue.of(action)
            assert set(found.detail) <= entry.fields, f"{action}: {set(found.detail) - entry.fields} is not declared"
            assert found.outcome in entry.outcomes, f"{action} is not declared to end as {found.outcome}"
        return found

    trail.event = checked  # type: ignore[assignment]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """A test that has a database: what it makes services do has one fate with its events."""
    has_database = "db" in pyfuncitem.fixturenames or pyfuncitem.get_closest_marker("django_db")
    if not has_database or pyfuncitem.path.parent.name not in fate.ROOMS:
        return (yield)
    with fate.body_of_a_test():
        return (yield)


class Roles:
    """`roles.use("slurm")`: go on as another process's database role."""

    def use(self, role: str | None) -> None:
        """None: the superuser, to prepare what no process may."""
        with connection.cursor() as cursor:
            cursor.execute(f"SET ROLE {role}" if role else "RESET ROLE")


@pytest.fixture
def roles(db: None) -> Iterator[Roles]:
    """Switch the database role; put back at the end."""
    switch = Roles()
    yield switch
    switch.use(None)


def pytest_terminal_summary(terminalreporter: object) -> None:
    """What the matrix tried, wherever its tests ran."""
    from tests.matrix import summary

    summary.say(terminalreporter)
