"""What Slurm's accounting must know of the demo: the portal's two users, accounts, QOS and associations per project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stack import demo, shell
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


def projects() -> None:
    """Once slurmctld has told slurmdbd which TRES there are."""
    if not DONE.exists():
        sacctmgr(*(line for project in demo.PROJECTS for line in _project(project)))
        DONE.touch()


def _project(project: demo.DemoProject) -> Iterator[str]:
    qos = f"qos={project.qos} defaultqos={project.qos}"
    yield f"add qos {project.qos} flags=NoDecay grptres=gres/gpu=8 description={project.code}"
    yield f"add account {project.code} description={project.code} organization=demo {qos}"
    users = [member.user for member in project.members() if member.roles[project.code] != "viewer"]
    yield f"add user {','.join(users)} account={project.code} partition={','.join(project.partitions)} {qos}"


def sacctmgr(*lines: str) -> None:
    """All changes over one connection, repeatable. Its exit status says little, so its words decide."""
    said = shell.run(
        ["sh", "-c", "sacctmgr -i 2>&1 || true"], user="bancada-slurmctld", text="\n".join(lines) + "\nquit\n", env=ENV
    )
    wrong = [line for line in said.splitlines() if "error" in line.lower() or "unknown" in line.lower()]
    if wrong:
        raise Fault(f"sacctmgr: {wrong[0].strip()}")
