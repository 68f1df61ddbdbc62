"""The portal's processes: one table of start lines, each with a user of its own."""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from stack import identities
from stack.environment import environment
from stack.layout import INSIDE_CHECKOUT, Stack
from stack.service import Service

PYTHON = f"{INSIDE_CHECKOUT}/.venv/bin/python"
RUN = "/srv/var/run"
WEB, LIVE = f"{RUN}/web/web.sock", f"{RUN}/live/live.sock"
SIGNER, READER, OPENER = f"{RUN}/signer/signer.sock", f"{RUN}/reader/reader.sock", f"{RUN}/opener/opener.sock"
SIGNER_OPTIONS = (
    f"--socket {SIGNER} --allow bancada-slurm=user,admin --allow bancada-follower=read --slurm-user bancada-slurmctld"
)
OPENER_OPTIONS = f"--socket {OPENER} --keys /srv/var/tickets --allow-uid {{reader}} --socket-owner {{reader}}"
FILES = f"{RUN}/files/files.sock"
FILES_OPTIONS = f"--socket {FILES} --keys /srv/var/tickets --allow-uid {{web}} --allow-uid {{slurm}} --socket-mode 660"
READER_OPTIONS = f"--socket {READER} --opener {OPENER}"
# gunicorn gives the socket its own group: who may connect is for the folder to say. Both workers share what is loaded
WEB_OPTIONS = (
    f"-k gthread --workers 2 --threads 8 --bind unix:{WEB} --umask 0 --no-control-socket --worker-tmp-dir {RUN}/web"
    " --preload --timeout 60 --graceful-timeout 8 portal.wsgi:application"
)
LIVE_OPTIONS = (
    f"portal.asgi:application --uds {LIVE} --ws websockets-sansio --ws-per-message-deflate false"
    " --no-access-log --timeout-graceful-shutdown 5 --ws-max-size 65536"  # bytes: a page asks in a hundred
)
# one task at a time in the process itself: a pool of children would cost another 100 MB each
WORKER = (
    "-m celery -A portal.celery worker --pool solo --loglevel INFO"
    " --without-gossip --without-mingle --without-heartbeat"
)
BEAT = f"-m celery -A portal.celery beat --schedule {RUN}/beat/schedule --loglevel INFO"
SEALER = "audit/management/commands/seal.py"
FOLLOWER = "jobs/management/commands/follow_slurm.py"
CLUSTER = ("slurmrestd", "signer")


@dataclasses.dataclass(frozen=True)
class Process:
    """One row: its user without bancada-, its start line, and the program that must exist for it to be started."""

    name: str
    user: str
    line: str
    program: str
    after: Sequence[str] = ()
    socket: str = ""
    umask: int = 0o027


STORES = ("postgres", "redis-broker", "redis-hints")
TABLE = (
    Process("signer", "signer", f"-m slurm.signer {SIGNER_OPTIONS}", "slurm/signer.py", (), SIGNER, 0o007),
    Process("opener", "root", f"-m logs.opener {OPENER_OPTIONS}", "logs/opener.py", (), OPENER),
    Process("reader", "reader", f"-m logs.reader {READER_OPTIONS}", "logs/reader.py", ["opener"], READER, 0o007),
    Process("files", "root", f"-m files.opener {FILES_OPTIONS}", "files/opener.py", (), FILES),
    Process("web", "web", f"-m gunicorn {WEB_OPTIONS}", "portal/wsgi.py", [*STORES, "slapd"], WEB),
    Process("live", "live", f"-m uvicorn {LIVE_OPTIONS}", "portal/asgi.py", STORES, LIVE),
    Process("worker-default", "work", f"{WORKER} -Q default -n default@%h", "portal/celery.py", STORES),
    Process("worker-slurm", "slurm", f"{WORKER} -Q slurm -n slurm@%h", "portal/celery.py", [*STORES, *CLUSTER]),
    Process("beat", "beat", f"{BEAT} --pidfile=", "portal/celery.py", STORES),
    Process("follower", "follower", "manage.py follow_slurm --skip-checks", FOLLOWER, [*STORES, *CLUSTER]),
    Process("sealer", "seal", "manage.py seal --skip-checks", SEALER, ["postgres"]),
)


def services(stack: Stack) -> list[Service]:
    """Those whose program is there."""
    rows = [row for row in TABLE if (stack.checkout / row.program).exists()]
    have = {row.name for row in rows}
    absent = {row.name for row in TABLE} - have
    return [_service(stack, row, absent) for row in rows]


def _service(stack: Stack, row: Process, absent: set[str]) -> Service:
    user = row.user if row.user == "root" else f"bancada-{row.user}"
    return Service(
        name=row.name,
        argv=[PYTHON, *_fill(stack, row.line).split()],
        user=user,
        after=[name for name in row.after if name not in absent],
        sets=("portal",),
        env=environment(stack, row.user),
        prepare=lambda: _tidy(row.socket),
        ready=_listening(row.socket),
        restart=True,
        umask=row.umask,
        cwd=str(INSIDE_CHECKOUT),
    )


def _fill(stack: Stack, line: str) -> str:
    for name in ("reader", "web", "slurm"):
        line = line.replace(f"{{{name}}}", str(identities.uid(stack, f"bancada-{name}")))
    return line


def _tidy(socket: str) -> None:
    """What an earlier process left: its socket would look like a live one, its counts would be added to the new."""
    if socket:
        Path(socket).unlink(missing_ok=True)
        shutil.rmtree(Path(socket).with_name("metrics"), ignore_errors=True)


def _listening(socket: str) -> Callable[[], bool]:
    """Ready when its socket is there; without one, when it has not ended within a second."""
    begun: list[float] = []

    def settled() -> bool:
        begun.append(time.monotonic())
        return begun[-1] - begun[0] > 1.0

    return (lambda: Path(socket).is_socket()) if socket else settled
