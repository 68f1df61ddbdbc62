"""Django in a measuring process of its own."""

from __future__ import annotations

import os
import secrets


def settings(name: str, host: str) -> None:
    """Set up for the database of that name behind PostgreSQL's socket in that folder; nothing connects yet."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "portal.settings", "BANCADA_SECRET_KEY": secrets.token_hex(32),
        "BANCADA_PUBLIC_URL": "https://bench.example", "LDAP_URL": "ldaps://bench.example", "SLURM_URL": "fake:bench",
        "DATABASE_URL": f"postgres://postgres@/{name}?host={host}", "BANCADA_LOG_LEVEL": "ERROR",
        "BANCADA_SUBMISSIONS_PER_MINUTE": "0",
    }  # fmt: skip
    import django

    django.setup()


def roles() -> None:
    """The roles of the processes, with their grants."""
    from django.core.management import call_command

    call_command("setup_roles", verbosity=0)
