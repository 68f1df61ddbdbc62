#!/usr/bin/python3
"""Exit 0 when a service does its work, as seen from inside its own container: healthy NAME."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from house import STACK, service

from stack import keys
from stack.services import portal, redis

MOST_BELLS = 50  # a worker that works leaves its queue nearly empty; beat rings twice in five seconds
BEAT_SAVES = 600.0  # seconds; beat writes its timetable down every three minutes
# the advisory locks of jobs/management/commands/follow_slurm.py and audit/services/sealing.py
LOCKS = {"follower": 0x62616E63, "sealer": 0x7365616C}
LOCKED = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = {}"
CHECKS: dict[str, Callable[[], bool]] = {
    "web": lambda: get(portal.WEB, "/healthz") == 200,
    "live": lambda: get(portal.LIVE, "/healthz") == 200,
    "nginx": lambda: get(("127.0.0.1", STACK.tcp("door")), "/healthz") == 200,
    "signer": lambda: connects(portal.SIGNER, socket.SOCK_STREAM),
    "reader": lambda: get(portal.READER, "/") < 500,
    "files": lambda: Path(portal.FILES).is_socket(),
    "opener": lambda: Path(portal.OPENER).is_socket(),
    "worker-default": lambda: bells("default") < MOST_BELLS,
    "worker-slurm": lambda: bells("slurm") < MOST_BELLS,
    "beat": lambda: min(map(age, Path(f"{portal.RUN}/beat").glob("schedule*")), default=BEAT_SAVES) < BEAT_SAVES,
    "follower": lambda: holds("follower", "slurm"),
    "sealer": lambda: holds("sealer", "seal"),
}


class UnixConnection(http.client.HTTPConnection):
    """HTTP on a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("127.0.0.1", timeout=5)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(5)
        self.sock.connect(self._path)


def get(where: str | tuple[str, int], path: str) -> int:
    """The status of an answer; refused or silent counts as 599."""
    link = UnixConnection(where) if isinstance(where, str) else http.client.HTTPConnection(*where, timeout=5)
    try:
        link.request("GET", path)
        return link.getresponse().status
    except (OSError, http.client.HTTPException):
        return 599
    finally:
        link.close()


def connects(path: str, kind: socket.SocketKind) -> bool:
    """Whether somebody accepts there."""
    with socket.socket(socket.AF_UNIX, kind) as link:
        link.settimeout(2)
        return link.connect_ex(path) == 0


def bells(queue: str) -> int:
    """How many messages nobody has taken yet."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(2)
        link.connect(redis.socket_of("broker"))
        link.sendall(f"AUTH {keys.word('redis-broker')}\r\nLLEN {queue}\r\n".encode())
        lines = link.makefile("rb")
        lines.readline()
        return int(lines.readline()[1:])


def age(path: Path) -> float:
    return time.time() - path.stat().st_mtime


def holds(name: str, role: str) -> bool:
    """Whether somebody holds this one's advisory lock; asked with the driver of the portal's own Python."""
    ask = f"import psycopg; print(psycopg.connect('host={portal.RUN}/pg user={role} dbname=bancada')"
    statement = LOCKED.format(LOCKS[name])
    done = subprocess.run([portal.PYTHON, "-c", f'{ask}.execute("{statement}").fetchone())'], capture_output=True)
    return done.stdout.startswith(b"(1")


def main() -> int:
    os.chdir("/")
    look = CHECKS.get(sys.argv[1]) or service(sys.argv[1]).ready
    return 0 if look() else 1


if __name__ == "__main__":
    sys.exit(main())
