"""The machine and the settings: room on the disks, releases of what we stand on, Django's own checks."""

from __future__ import annotations

import shutil
import sys
from importlib import metadata
from pathlib import Path

from django.conf import settings
from django.core.checks import ERROR, run_checks

from portal.doctor.finding import Trouble

LEAST_FREE = 0.05
LEAST_BYTES = 1 << 30
SHOWN = ("django", "django-auth-ldap", "python-ldap", "psycopg", "celery", "channels")


def disk() -> str:
    """Room where we write."""
    worst = 1.0
    for folder in (settings.BASE_DIR, Path(settings.STATIC_ROOT), Path("/tmp")):  # noqa: S108 - only measured
        where = folder if folder.exists() else folder.parent
        if not where.exists():
            continue
        usage = shutil.disk_usage(where)
        share = usage.free / usage.total
        worst = min(worst, share)
        if share < LEAST_FREE or usage.free < LEAST_BYTES:
            raise Trouble(f"{where}: {usage.free >> 20} MB free", "make room: a full disk stops PostgreSQL first")
    return f"{worst:.0%} free"


def versions() -> str:
    """What runs."""
    python = ".".join(map(str, sys.version_info[:3]))
    return ", ".join([f"Python {python}", *(f"{name} {metadata.version(name)}" for name in SHOWN)])


def configuration() -> str:
    """Django's checks, those for production where this is one."""
    found = [one for one in run_checks(include_deployment_checks=settings.SECURE) if one.level >= ERROR]
    if found:
        raise Trouble(f"{found[0].id}: {found[0].msg}", found[0].hint or "run `manage.py check --deploy`")
    if not settings.SECURE:
        return f"{settings.PUBLIC_URL}: plain http, on this machine only"
    return settings.PUBLIC_URL
