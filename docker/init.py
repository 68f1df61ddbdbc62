"""Runs once, before anything else: owners of the volumes, keys and secrets, the configuration files."""

from __future__ import annotations

import os
from pathlib import Path

import real_gpus
from house import PREPARED_BY_INIT, STACK, service

from stack import folders, keys
from stack.services import directory

# the folder (a volume that only these containers mount at /srv/var/secrets) -> what is handed out in it
HANDED = {
    "portal": ("django", "metrics", "ldap", "redis-*", "prometheus*"),
    "worker": ("django", "metrics", "ldap", "redis-*", "prometheus*", "ticket.pem"),
    "sealer": ("django", "metrics", "ldap", "redis-*", "prometheus*", "seal.pem"),
    "signer": ("signer-jwt",),
    "slurm": ("slurm-jwt",),
    "redis": ("redis-broker", "redis-hints"),
    "slapd": ("ldap",),
    "prometheus": ("prometheus", "metrics", "agent"),
    "agent": ("agent",),
}


def hand_out() -> None:
    """Copy secrets to those who need them, with owner and mode, so that no other container has even the file."""
    for name, patterns in HANDED.items():
        folder = STACK.var / "handed" / name
        folder.chmod(0o711)
        for source in (path for pattern in patterns for path in keys.FOLDER.glob(pattern)):
            _copy(source, folder / source.name)


def _copy(source: Path, target: Path) -> None:
    facts, fresh = source.stat(), target.with_name(f".{target.name}.new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(source.read_bytes())
    os.chown(fresh, facts.st_uid, facts.st_gid)
    fresh.chmod(facts.st_mode & 0o777)
    fresh.replace(target)


def main() -> None:
    os.umask(0o022)
    folders.make(STACK)
    keys.prepare(f"{STACK.host('prometheus')}:{STACK.tcp('prometheus')}")
    directory.certificates()
    for name in PREPARED_BY_INIT:
        if prepare := service(name).prepare:
            prepare()
    if count := os.environ.get("BANCADA_REAL_GPUS"):
        real_gpus.put(STACK.var / "slurm", int(count), os.environ.get("BANCADA_GPU_TYPE", "a100"))
    hand_out()


if __name__ == "__main__":
    main()
