"""The Debian packages the stack is made of, installed without starting or enabling one of their services."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from stack.fault import Fault

STACK = [
    *("postgresql", "redis-server", "slapd", "ldap-utils", "nginx", "prometheus"),
    *("munge", "mariadb-server", "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "slurm-client"),
    *("slurm-wlm-basic-plugins", "slurm-wlm-jwt-plugin", "slurm-wlm-mysql-plugin"),
    *("gcc", "libc6-dev", "python3-dev", "libldap-dev", "libsasl2-dev"),  # python-ldap has no wheel
    *("python3", "python3-venv", "python3-numpy", "gettext", "openssl", "util-linux", "iproute2", "procps"),
]
POLICY = Path("/usr/sbin/policy-rc.d")
# units and links by which a service starts with the machine
ENABLED = ("/etc/systemd/system/*.wants/*", "/etc/rc[2-5].d/S*")


def missing(wanted: list[str] = STACK) -> list[str]:
    command = ["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n"]
    rows = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    have = {row[4:].strip() for row in rows if row.startswith("ii")}
    return [name for name in wanted if name not in have]


def install(wanted: list[str]) -> None:
    """Install what is missing. Raises Fault with apt's last words."""
    names = missing(wanted)
    if not names:
        return
    print(f"installing {len(names)} Debian packages: {' '.join(names)}", flush=True)
    before = _enabled()
    with _nothing_starts():
        _apt("update", "-q")
        _apt("install", "-q", "-y", "--no-install-recommends", "-o", "Dpkg::Options::=--force-unsafe-io", *names)
    for path in sorted(_enabled() - before):
        _disable(path)


def _apt(*words: str) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(["apt-get", *words], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("E:")] or done.stderr.splitlines() or ["?"]
        raise Fault(f"apt-get {words[0]} failed: {said[0]}")


@contextlib.contextmanager
def _nothing_starts() -> Iterator[None]:
    """A policy-rc.d that refuses every start, and afterwards the one that was there before, if any."""
    old = POLICY.read_bytes() if POLICY.exists() else None
    POLICY.write_text("#!/bin/sh\nexit 101\n")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink() if old is None else POLICY.write_bytes(old)


def _enabled() -> set[Path]:
    return {path for pattern in ENABLED for path in Path("/").glob(pattern.lstrip("/"))}


def _disable(path: Path) -> None:
    """Undo what a package's installation enabled, by the tools that keep the books on it."""
    if path.parts[2].startswith("rc"):
        subprocess.run(["update-rc.d", path.name[3:], "disable"], capture_output=True)
    else:
        subprocess.run(["deb-systemd-helper", "disable", path.name], capture_output=True)
        path.unlink(missing_ok=True)
