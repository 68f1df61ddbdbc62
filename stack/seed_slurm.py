"""What Slurm's accounting must know before the portal can fill it: the cluster, and the portal's two users."""

from __future__ import annotations

from pathlib import Path

from stack import shell
from stack.fault import Fault

ENV = {"SLURM_CONF": "/srv/var/slurm/slurm.conf"}
DONE = Path("/srv/var/slurm/state/.seeded")


def cluster() -> None:
    """Before slurmctld starts: its cluster, and the two users the portal acts and reads as."""
    if not DONE.exists():
        sacctmgr(
            "add cluster bancada",
            "add user bancada account=root adminlevel=Admin",
            "add user bancada-read account=root adminlevel=Operator",
        )
        DONE.touch()


def sacctmgr(*lines: str) -> None:
    """All changes over one connection, repeatable. Its exit status says little, so its words decide."""
    said = shell.run(
        ["sh", "-c", "sacctmgr -i 2>&1 || true"], user="bancada-slurmctld", text="\n".join(lines) + "\nquit\n", env=ENV
    )
    wrong = [line for line in said.splitlines() if "error" in line.lower() or "unknown" in line.lower()]
    if wrong:
        raise Fault(f"sacctmgr: {wrong[0].strip()}")
