"""After a test that committed: only the tables that hold something are emptied, the trail too."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import TransactionTestCase

_KEPT = (ContentType, Permission)  # the same for every test; Django would make them anew each time


def install() -> None:
    """In place of TRUNCATE of every table and all that Django does after a migration."""
    TransactionTestCase._fixture_teardown = _empty  # type: ignore[method-assign]


def _empty(_case: object) -> None:
    """Rows go without the triggers of either kind; those of the trail are put back as in production."""
    from audit import identities
    from portal.management.commands.setup_roles import guard_the_trail

    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        full = _full(cursor)
        guarded = [table for table in full if table.startswith("audit_")]
        for table in guarded:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute("SET session_replication_role = replica")
        for table in full:
            cursor.execute(f"DELETE FROM {table}")
        cursor.execute("SET session_replication_role = DEFAULT")
    if guarded:
        guard_the_trail()
    identities.forget()


def _full(cursor: Any) -> list[str]:
    kept = {model._meta.db_table for model in _KEPT}
    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)} - kept
    there = set(connection.introspection.table_names(cursor)) & tables
    each = (f"(SELECT '{table}' WHERE EXISTS (SELECT FROM {table}))" for table in sorted(there))
    cursor.execute(" UNION ALL ".join(each))
    return [table for (table,) in cursor.fetchall()]
