"""`manage.py setup_roles`: the database roles, the migrations under the owner, and each role's grants."""

from __future__ import annotations

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connection

from audit import context, could, trail
from audit.actions import Action
from portal.roles import OWNER, ROLES, statements


class Command(BaseCommand):
    """Repeatable; needs a database superuser."""

    help = "Create the database roles, migrate as the owner, and grant each role its part."

    def handle(self, *args: Any, **options: Any) -> None:
        """Roles first, then tables, then grants."""
        create_roles()
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER SCHEMA public OWNER TO {OWNER}")
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")  # PostgreSQL's own; who owns tables may make none
            cursor.execute(f"SET ROLE {OWNER}")
            try:
                call_command("migrate", interactive=False, verbosity=options["verbosity"])
            finally:
                cursor.execute("RESET ROLE")
        grant()
        _note_rights()


def _note_rights() -> None:
    """What each role brings with it, where that changed: asked later, who could what on a day."""
    with context.coming_from("command"):
        if could.note():
            trail.record(Action.COMMAND_RUN, command="setup_roles", arguments=["rights changed"])


def create_roles() -> None:
    """The five roles; none but the owner owns anything, and the owner cannot log in."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolname FROM pg_roles WHERE rolname = ANY(%s)", [list(ROLES)])
        have = {name for (name,) in cursor.fetchall()}
        for role in ROLES:
            if role not in have:
                cursor.execute(f"CREATE ROLE {role} {'NOLOGIN' if role == OWNER else 'LOGIN'}")


def grant() -> None:
    """Give each role its part of each table, and nothing more; the trail's triggers fire for everybody."""
    tables = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        for line in statements(tables):
            cursor.execute(line)
    guard_the_trail()


def guard_the_trail() -> None:
    """The trail's triggers fire for everybody, in replica mode too."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'audit\\_%'"
            " AND NOT tgisinternal"
        )
        for table, name in cursor.fetchall():
            cursor.execute(f'ALTER TABLE {table} ENABLE ALWAYS TRIGGER "{name}"')
