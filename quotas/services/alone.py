"""One process at a time speaks to slurmdbd for us."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

LOCK = 0x62616E71


@contextmanager
def alone() -> Iterator[bool]:
    """True for whoever comes first, until it is through; False for everybody else meanwhile."""
    first = _ask("SELECT pg_try_advisory_lock(%s)")
    try:
        yield first
    finally:
        if first:
            _ask("SELECT pg_advisory_unlock(%s)")


def _ask(statement: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, [LOCK])
        return bool(cursor.fetchone()[0])
