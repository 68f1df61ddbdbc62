"""PostgreSQL: a cluster of the stack's own, on a Unix socket only, where the kernel says who is asking."""

from __future__ import annotations

import signal
from pathlib import Path

from stack import shell
from stack.service import Service

DATA = Path("/srv/var/postgres")
SOCKETS = "/srv/var/run/pg"
USER = "bancada-postgres"
ROLES = ("owner", "web", "work", "slurm", "seal")
# service user -> database role; root and the migrations' user may be any of them
LOGINS = {
    "web": "web",
    "live": "web",
    "work": "work",
    "beat": "work",
    "slurm": "slurm",
    "follower": "slurm",
    "seal": "seal",
}


def programs() -> Path:
    """The folder of the newest PostgreSQL on this machine."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return found[-1] if found else Path("/usr/bin")


def services() -> list[Service]:
    return [
        Service(
            name="postgres",
            argv=[str(programs() / "postgres"), "-D", str(DATA)],
            user=USER,
            prepare=prepare,
            ready=lambda: shell.works([str(programs() / "pg_isready"), "-q", "-h", SOCKETS, "-U", "postgres"]),
            finish=finish,
            stop=signal.SIGINT,  # fast shutdown: does not wait for clients
            grace=20,
        )
    ]


def prepare() -> None:
    if not (DATA / "PG_VERSION").exists():
        shell.clear(DATA)
        initdb = [str(programs() / "initdb"), "-D", str(DATA), "-U", "postgres", "-A", "peer", "-E", "UTF8"]
        shell.run([*initdb, "--locale=C.UTF-8", "--no-sync"], user=USER)
        with (DATA / "postgresql.conf").open("a") as file:
            file.write("include 'stack.conf'\n")
    shell.render(
        "postgresql.conf", DATA / "stack.conf", {"sockets": SOCKETS, "durable": _durable()}, user=USER, mode=0o600
    )
    shell.write(DATA / "pg_hba.conf", "local all all peer map=stack\n", user=USER, mode=0o600)
    shell.write(DATA / "pg_ident.conf", _ident(), user=USER, mode=0o600)


def _durable() -> str:
    """A stack for unit tests may lose everything when the machine does, and is quicker for it."""
    return "off" if (shell.VAR / "throwaway").exists() else "on"


def _ident() -> str:
    rows = [("bancada-postgres", "postgres"), ("bancada-owner", "postgres")]
    rows += [(f"bancada-{user}", role) for user, role in LOGINS.items()]
    rows += [("root", role) for role in ("postgres", *ROLES)]
    return "".join(f"stack {user} {role}\n" for user, role in rows)


def finish() -> None:
    if not psql("SELECT 1 FROM pg_database WHERE datname = 'bancada'"):
        psql("CREATE DATABASE bancada")


def psql(statement: str, database: str = "postgres") -> str:
    return shell.run(["psql", "-h", SOCKETS, "-U", "postgres", "-d", database, "-Atqc", statement]).strip()
