"""Runs once: the portal's database, its roles, migrations, grants, and the demo's rows."""

from __future__ import annotations

import os
import subprocess
import sys

import psycopg
from house import CHECKOUT, STACK

from stack import shell
from stack.environment import environment

SOCKETS = "/srv/var/run/pg"


def database() -> None:
    """The kernel says that we are bancada-owner, whom PostgreSQL lets be its superuser."""
    with psycopg.connect(f"host={SOCKETS} user=postgres dbname=postgres", autocommit=True) as link:
        if not link.execute("SELECT 1 FROM pg_database WHERE datname = 'bancada'").fetchone():
            link.execute("CREATE DATABASE bancada")


def manage(*words: str) -> None:
    env = {**shell.ENV, **environment(STACK, "owner"), **os.environ}
    subprocess.run([sys.executable, "manage.py", *words], cwd=CHECKOUT, env=env, check=True)


if __name__ == "__main__":
    database()
    manage("setup_roles")
    manage("deliver_presets")
    if os.environ.get("BANCADA_DEMO", "1") == "1":
        manage("seed_demo")
