"""Save the same columns of many rows in one round trip: psycopg pipelines executemany; bulk_update builds CASEs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Model


def update_many(rows: Sequence[Model], fields: Sequence[str]) -> None:
    """Like `row.save(update_fields=fields)` for each row of one model, without signals."""
    if not rows:
        return
    meta = rows[0]._meta
    columns = [meta.get_field(name) for name in fields]
    settings = ", ".join(f'"{field.column}" = %s' for field in columns)  # type: ignore[union-attr]
    sql = f'UPDATE "{meta.db_table}" SET {settings} WHERE "{meta.pk.column}" = %s'  # noqa: S608 - names of our own model
    with connection.cursor() as cursor:
        cursor.executemany(sql, [[*_values(row, columns), row.pk] for row in rows])


def _values(row: Model, columns: Sequence[object]) -> list[Any]:
    return [
        field.get_db_prep_save(getattr(row, field.attname), connection)  # type: ignore[attr-defined]
        for field in columns
    ]
