"""Where things of one stack lie: the paths seen from outside and inside its namespace, its TCP ports, its folders."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

PYTHON = "/usr/bin/python3"
INSIDE_CHECKOUT = Path("/srv/bancada")  # short and fixed, whatever the real path: AF_UNIX paths end at 107 bytes
INSIDE_VAR = Path("/srv/var")
MARKER = "/srv/.stack"  # names the var folder a mount namespace belongs to
DEFAULT_PORT = 8600

# TCP ports, counted from the base; all else speaks over Unix sockets
PORTS = ("door", "ldap", "ldaps", "slurmctld", "slurmdbd", "gpu01", "gpu02", "big01", "prep01", "prometheus",
         "agent-gpu01", "agent-gpu02", "agent-big01", "agent-prep01")  # fmt: skip

# folder under var, owner, group, mode: a set-group-id folder hands its group to the sockets made in it
FOLDERS = (
    ("log", "root", "root", 0o755),
    ("run", "root", "root", 0o755),
    ("run/pid", "root", "root", 0o755),
    ("run/pg", "bancada-postgres", "bancada-db", 0o2750),
    ("run/redis", "bancada-redis", "bancada-bus", 0o2750),
    ("run/slapd", "bancada-slapd", "bancada-slapd", 0o750),
    ("run/munge", "bancada-munge", "bancada-munge", 0o755),
    ("run/mariadb", "bancada-mariadb", "bancada-slurmctld", 0o2750),
    ("run/slurm", "bancada-slurmctld", "bancada-slurmctld", 0o755),
    ("run/slurmrestd", "bancada-slurmrestd", "bancada-cluster", 0o2750),
    ("run/nginx", "bancada-nginx", "bancada-nginx", 0o700),
    ("run/web", "bancada-web", "bancada-nginx", 0o2750),
    ("run/live", "bancada-live", "bancada-nginx", 0o2750),
    ("run/signer", "bancada-signer", "bancada-cluster", 0o2750),
    ("run/reader", "bancada-reader", "bancada-watch", 0o2750),
    ("run/opener", "root", "bancada-reader", 0o2750),
    ("run/files", "root", "bancada-files", 0o2750),
    ("run/beat", "bancada-beat", "bancada-beat", 0o750),
    ("postgres", "bancada-postgres", "bancada-postgres", 0o700),
    ("redis", "bancada-redis", "bancada-redis", 0o700),
    ("redis/broker", "bancada-redis", "bancada-redis", 0o700),
    ("slapd", "bancada-slapd", "bancada-slapd", 0o700),
    ("mariadb", "bancada-mariadb", "bancada-mariadb", 0o700),
    ("mariadb/tmp", "bancada-mariadb", "bancada-mariadb", 0o700),
    ("munge", "bancada-munge", "bancada-munge", 0o700),
    ("slurm", "root", "root", 0o755),
    ("slurm/state", "bancada-slurmctld", "bancada-slurmctld", 0o700),
    ("slurm/spool", "root", "root", 0o755),
    ("slurm/gpus", "root", "root", 0o755),
    ("prometheus", "bancada-prometheus", "bancada-prometheus", 0o700),
    ("driver", "root", "root", 0o755),
    ("run/scenes", "root", "root", 0o1777),  # what simulated GPUs show is for the jobs on them to say
    ("static", "bancada-owner", "bancada-owner", 0o755),
    ("etc", "root", "root", 0o755),
    ("tickets", "root", "root", 0o755),
    ("checkpoints", "bancada-seal", "bancada-seal", 0o755),
    ("exports", "bancada-work", "bancada-web", 0o2750),
    ("secrets", "root", "root", 0o711),
    ("home", "root", "root", 0o755),
    ("projects", "root", "root", 0o755),
    ("portal-log", "root", "bancada-portal", 0o2770),
)


@dataclasses.dataclass(frozen=True)
class Stack:
    """One stack: its checkout, its var folder (both real, resolved paths) and the first of its TCP ports."""

    checkout: Path
    var: Path
    port: int
    spread: bool = False  # each service in a container of its own, known to the others by name
    settings: tuple[str, ...] = ()  # NAME=VALUE, what its Django processes are told beside their own environment

    def tcp(self, name: str) -> int:
        return self.port + PORTS.index(name)

    def host(self, name: str) -> str:
        """Where the others reach a service."""
        return name if self.spread else "127.0.0.1"

    @property
    def listen(self) -> str:
        """The address services listen on: a container's own network is closed by what it is joined to."""
        return "0.0.0.0" if self.spread else "127.0.0.1"

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.tcp('door')}"

    @property
    def marker(self) -> str:
        """What MARKER holds inside this stack's namespace: device and inode of var, so that a moved folder is known."""
        stat = self.var.stat()
        return f"{stat.st_dev}:{stat.st_ino}"


def find(checkout: Path, var: Path, port: int | None, settings: Sequence[str] = ()) -> Stack:
    """The stack of a var folder; it keeps the port it was first started with."""
    kept = var / "port.json"
    if port is None:
        port = json.loads(kept.read_text())["port"] if kept.exists() else DEFAULT_PORT
    return Stack(checkout=checkout.resolve(), var=var.resolve(), port=port, settings=tuple(settings))


def remember(stack: Stack) -> None:
    (stack.var / "port.json").write_text(json.dumps({"port": stack.port, "settings": stack.settings}))


def same_settings(stack: Stack) -> bool:
    """Whether a stack that runs was started with these; none asked for is whatever it has."""
    kept = json.loads((stack.var / "port.json").read_text())
    return not stack.settings or list(stack.settings) == kept.get("settings")
