"""The node agents: one a node, beside the simulated GPUs it watches, as a user of its own with CAP_SYS_PTRACE."""

from __future__ import annotations

from pathlib import Path

from stack import shell
from stack.driver.build import build
from stack.layout import INSIDE_CHECKOUT, PYTHON, Stack
from stack.service import Service
from stack.services.slurm import NODES

USER = "bancada-agent"
DRIVER = Path("/srv/var/driver")
TOKEN = "/srv/var/secrets/agent"
DROP = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", "--inh-caps=-all,+sys_ptrace")
KEEP = ("--ambient-caps=-all,+sys_ptrace", "--bounding-set=-all,+sys_ptrace")


def services(stack: Stack) -> list[Service]:
    """One a node; a node without GPUs has no driver, and its agent says so."""
    return [_agent(stack, node) for node in NODES]


def _agent(stack: Stack, node: str) -> Service:
    kind, count = NODES[node]
    port = stack.tcp(f"agent-{node}")
    # in a container of its own it sees the processes of one node only, and slurmd's folder is not there
    spool = [] if stack.spread else ["--spool", f"/srv/var/slurm/spool/{node}"]
    agent = [f"{INSIDE_CHECKOUT}/.venv/bin/python", "-m", "gpu.agent", "--host", stack.listen, "--port", str(port)]
    agent += ["--token-file", TOKEN, "--node", node, *spool, *(["--closed-network"] if stack.spread else [])]
    scene = f"/tmp/{node}.scene" if stack.spread else f"{DRIVER}/{node}.scene"  # a container's /tmp is its own
    play = [PYTHON, "-m", "stack.driver.play", node, kind or "none", str(count), scene, *spool]
    return Service(
        name=f"agent-{node}",
        argv=[*play, "--", *DROP, *KEEP, *agent],
        after=() if stack.spread else (f"slurmd-{node}",),
        sets=("agents",),
        env={
            "PYTHONPATH": str(INSIDE_CHECKOUT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MALLOC_ARENA_MAX": "2",
            "LD_LIBRARY_PATH": str(DRIVER),
            "BANCADA_SCENE": scene,
        },
        prepare=None if stack.spread else _driver,
        ready=lambda: shell.listens(port),
        restart=True,
        port=f"agent-{node}",
    )


def _driver() -> None:
    build(DRIVER)
