"""Who exists inside the namespace: the system's entries, service users, the directory's people."""

from __future__ import annotations

import grp
import json
import os
import pwd
from pathlib import Path

from stack import demo
from stack.fault import Fault
from stack.layout import Stack

# order matters: an entry's place is its distance from the first uid of the block
SERVICES = (
    "bancada",  # Slurm administrator; nobody runs as it
    "bancada-read",  # Slurm operator; nobody runs as it
    "bancada-postgres",
    "bancada-redis",
    "bancada-slapd",
    "bancada-munge",
    "bancada-mariadb",
    "bancada-slurmctld",  # Slurm's SlurmUser
    "bancada-slurmrestd",
    "bancada-prometheus",
    "bancada-nginx",
    "bancada-web",
    "bancada-live",
    "bancada-work",
    "bancada-slurm",
    "bancada-follower",
    "bancada-beat",
    "bancada-signer",
    "bancada-reader",
    "bancada-seal",
    "bancada-owner",  # migrations
    "bancada-agent",
)
DJANGO = ("web", "live", "work", "slurm", "follower", "beat", "seal", "owner")
# group -> service users in it; each is who may open one kind of socket or secret
GROUPS = {
    "bancada-portal": DJANGO,
    "bancada-db": DJANGO,
    "bancada-bus": DJANGO,
    "bancada-directory": ("web", "slurm", "work", "owner"),
    "bancada-cluster": ("slurm", "follower"),
    "bancada-watch": ("web", "live", "slurm"),  # slurm: looks into the outputs of jobs that ended
    "bancada-files": ("web", "slurm"),  # slurm: measures each project's folder once a day
}
GROUPS_AT = 50  # their distance from the first: a service that is added later moves no group
BLOCK = GROUPS_AT + len(GROUPS)
FIRST, LAST = 58000, 59900  # below what Debian and systemd give out themselves, above what adduser reaches


def choose_block(stack: Stack) -> int:
    """First uid (and gid) of the service block: kept once written, else the first block nobody on this machine has."""
    kept = stack.var / "identities.json"
    if kept.exists():
        return int(json.loads(kept.read_text())["first"])
    first = next((n for n in range(FIRST, LAST, 100) if _free(n)), None)
    if first is None:
        raise Fault(f"No free block of {BLOCK} uids between {FIRST} and {LAST} on this machine.")
    return first


def _free(first: int) -> bool:
    return not any(_known(pwd.getpwuid, n) or _known(grp.getgrgid, n) for n in range(first, first + BLOCK))


def _known(lookup: object, number: int) -> bool:
    try:
        lookup(number)  # type: ignore[operator]
    except KeyError:
        return False
    return True


def write(stack: Stack) -> None:
    """Write etc/passwd, etc/group and etc/hosts of the namespace."""
    first, etc = choose_block(stack), stack.var / "etc"
    (stack.var / "identities.json").write_text(json.dumps({"first": first}))
    etc.mkdir(mode=0o755, exist_ok=True)
    _replace(etc / "passwd", _system("/etc/passwd") + _service_users(first) + _people())
    _replace(etc / "group", _system("/etc/group") + _service_groups(first) + _unix_groups())
    _replace(etc / "hosts", ["127.0.0.1 localhost", f"127.0.0.1 {os.uname().nodename}"])


def _system(path: str) -> list[str]:
    """The system's own entries, less those whose name the stack gives to somebody of its own."""
    ours = {*SERVICES, *GROUPS, *(p.user for p in demo.PEOPLE), *(p.unix_group for p in demo.PROJECTS)}
    return [line for line in Path(path).read_text().splitlines() if line and line.split(":")[0] not in ours]


def _service_users(first: int) -> list[str]:
    rows = enumerate(SERVICES, start=first)
    return [f"{name}:x:{uid}:{uid}:Bancada stack:/nonexistent:/usr/sbin/nologin" for uid, name in rows]


def _service_groups(first: int) -> list[str]:
    own = [f"{name}:x:{gid}:" for gid, name in enumerate(SERVICES, start=first)]
    shared = enumerate(GROUPS.items(), start=first + GROUPS_AT)
    return own + [f"{name}:x:{gid}:{','.join(f'bancada-{user}' for user in users)}" for gid, (name, users) in shared]


def _people() -> list[str]:
    return [f"{p.user}:x:{p.uid}:{p.uid}:{p.name}:/srv/var/home/{p.user}:/bin/bash" for p in demo.PEOPLE]


def _unix_groups() -> list[str]:
    own = [f"{p.user}:x:{p.uid}:" for p in demo.PEOPLE]
    return own + [f"{p.unix_group}:x:{p.gid}:{','.join(m.user for m in p.members())}" for p in demo.PROJECTS]


def _replace(path: Path, lines: list[str]) -> None:
    """Rewrite in place: a running namespace has this very file bound over the system's."""
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o644)


def uid(stack: Stack, service_user: str) -> int:
    return choose_block(stack) + SERVICES.index(service_user)


def numbers(stack: Stack, user: str, group: str | None = None) -> tuple[int, int]:
    """uid and gid of a name as the namespace knows it, asked from outside."""
    users = {line.split(":")[0]: line.split(":") for line in (stack.var / "etc/passwd").read_text().splitlines()}
    groups = {line.split(":")[0]: line.split(":") for line in (stack.var / "etc/group").read_text().splitlines()}
    return int(users[user][2]), int(groups[group or user][2])


def groups_of(stack: Stack, user: str) -> list[int]:
    """Supplementary gids of a user."""
    rows = [line.split(":") for line in (stack.var / "etc/group").read_text().splitlines()]
    return [int(row[2]) for row in rows if user in row[3].split(",")]
