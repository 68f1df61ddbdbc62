"""A PostgreSQL for unit tests: started where it is asked for, shared by all who ask, quick because it may be lost."""

from __future__ import annotations

import fcntl

from stack import control
from stack.layout import Stack


def postgres(stack: Stack) -> str:
    """Its address, for root processes outside the namespace; starts it first if need be."""
    stack.var.mkdir(parents=True, exist_ok=True)
    with (stack.var / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (stack.var / "throwaway").touch()
        control.up(stack, ["postgres"], say=lambda line: None)
    return database_url(stack)


def database_url(stack: Stack) -> str:
    """As the superuser, through the supervisor's own view of /srv: short, whatever the path of var."""
    return f"postgres://postgres@/bancada?host=/proc/{control.need(stack)}/root/srv/var/run/pg"
