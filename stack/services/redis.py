"""Redis, twice: the broker, and hints for the channel layer; neither can starve the other."""

from __future__ import annotations

import socket
from pathlib import Path

from stack import keys, shell
from stack.service import Service

USER = "bancada-redis"


def socket_of(name: str) -> str:
    return f"/srv/var/run/redis/{name}.sock"


def services() -> list[Service]:
    return [_service("broker", "yes"), _service("hints", "no")]


def _service(name: str, append_only: str) -> Service:
    conf = f"/srv/var/redis/{name}.conf"

    def prepare() -> None:
        values = {"name": name, "append_only": append_only, "password": keys.word(f"redis-{name}")}
        shell.render("redis.conf", conf, values, user=USER, mode=0o400)

    return Service(
        name=f"redis-{name}",
        argv=["redis-server", conf],
        user=USER,
        sets=("redis",),
        prepare=prepare,
        ready=lambda: answers(name),
        umask=0o007,
    )


def answers(name: str) -> bool:
    """Whether it takes the password and says PONG."""
    if not Path(socket_of(name)).exists():
        return False
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(2)
        try:
            link.connect(socket_of(name))
            link.sendall(f"AUTH {keys.word(f'redis-{name}')}\r\nPING\r\n".encode())
            return _read(link).endswith(b"+PONG\r\n")
        except OSError:
            return False


def _read(link: socket.socket) -> bytes:
    """Two lines of answer, or what came before the end."""
    said = b""
    while said.count(b"\n") < 2 and (piece := link.recv(64)):
        said += piece
    return said
