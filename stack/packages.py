"""The Debian packages the stack is made of, installed without starting or enabling one of their services."""

from __future__ import annotations

import subprocess

STACK = (
    "postgresql redis-server slapd ldap-utils munge mariadb-server slurmctld slurmd slurmdbd slurmrestd slurm-client "
    "slurm-wlm-basic-plugins slurm-wlm-jwt-plugin slurm-wlm-mysql-plugin nginx prometheus openssl "
    "python3 python3-venv python3-numpy gettext util-linux iproute2 procps"
).split()
BROWSER = ["chromium"]


def installed() -> set[str]:
    command = ["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n"]
    rows = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return {row[4:].strip() for row in rows if row.startswith("ii")}


def missing(wanted: list[str] = STACK) -> list[str]:
    have = installed()
    return [name for name in wanted if name not in have]
