"""A database with all migrations, made once on a server and copied for each process of each run of the tests.

As a program it makes that database ready, and compiles the tests, while something else has a processor to spare.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.db.utils import OperationalError

ROOT = Path(__file__).resolve().parent.parent
PREFIX = "bancada_tests_"
_KEY = 0x62616E63  # an advisory lock's


def use(wanted: dict[str, Any], *, anew: bool) -> None:
    """Fill Django's settings of a test database; one that is there and not made `anew` is brought up by migrations."""
    from django.db import connection

    with _alone() as cursor:
        name = _template(cursor)
        cursor.execute("SELECT count(*) FROM pg_database WHERE datname = %s", [wanted["NAME"]])
        if anew or not cursor.fetchone()[0]:
            wanted |= {"TEMPLATE": name, "MIGRATE": False}
    connection.settings_dict["TEST"].update(wanted)


def copy(name: str) -> None:
    """A database of this name with all migrations and nothing else, in the place of an older one."""
    with _alone() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        cursor.execute(f"CREATE DATABASE {name} TEMPLATE {_template(cursor)}")


def _template(cursor: Any) -> str:
    """The name of the one with today's migrations, made where it is missing."""
    made, name = _templates(cursor), PREFIX + _digest()
    if name not in made:
        for old in made:
            with suppress(OperationalError):  # somebody copies it: it goes another time
                cursor.execute(f"DROP DATABASE IF EXISTS {old}")
        _make(name)
        cursor.execute(f"ALTER DATABASE {name}_half RENAME TO {name}")
    return name


@contextmanager
def _alone() -> Iterator[Any]:
    """One process of them all looks, and makes what is missing."""
    from django.db import connection

    with connection._nodb_cursor() as cursor:
        cursor.execute("SET lock_timeout = 0; SET statement_timeout = 0")  # the others wait for as long as it takes
        cursor.execute("SELECT pg_advisory_lock(%s)", [_KEY])  # it goes with the connection
        yield cursor


def _templates(cursor: Any) -> list[str]:
    cursor.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [PREFIX])
    return [name for (name,) in cursor.fetchall()]


def _make(name: str) -> None:
    """As Django makes one; by another name until it is whole."""
    from django.conf import settings
    from django.db import connection

    before = connection.settings_dict["NAME"]
    connection.settings_dict["TEST"]["NAME"] = f"{name}_half"
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    connection.close()
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = before


def _digest() -> str:
    """Of whatever makes tables: our migrations, and the libraries that bring some."""
    files = [*sorted(ROOT.glob("*/migrations/*.py")), ROOT / "requirements.lock"]
    whole = hashlib.sha256()
    for path in files:
        whole.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return whole.hexdigest()[:12]


if __name__ == "__main__":
    import pytest

    class _Ready:
        """Once all tests are collected, and so compiled."""

        def pytest_collection_finish(self, session: pytest.Session) -> None:
            from pytest_django.plugin import blocking_manager_key  # sooner, its asserts would be no longer rewritten

            with session.config.stash[blocking_manager_key].unblock(), _alone() as cursor:
                _template(cursor)

    raise SystemExit(pytest.main(["--collect-only", "-qqq"], plugins=[_Ready()]))
