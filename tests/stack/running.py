"""A stack of a test's own, driven by the very command a person uses."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from stack import control, layout

CHECKOUT = Path(__file__).resolve().parents[2]
PORT = 18760  # ten from here; no other suite uses them


class Own:
    """One var folder with its ports; `checkout` may be a copy elsewhere."""

    def __init__(self, var: Path, checkout: Path = CHECKOUT) -> None:
        self.var, self.checkout = var, checkout

    def run(self, act: str, *words: str) -> subprocess.CompletedProcess[str]:
        line = [layout.PYTHON, "-m", "stack", act, "--var", str(self.var), "--port", str(PORT), *words]
        return subprocess.run(line, cwd=self.checkout, capture_output=True, text=True, timeout=100)

    def ok(self, act: str, *words: str) -> str:
        done = self.run(act, *words)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    @property
    def stack(self) -> layout.Stack:
        return layout.find(self.checkout, self.var, PORT)

    def supervisor(self) -> int | None:
        return control.supervisor(self.stack)

    def pids(self) -> dict[str, int]:
        rows = json.loads((self.var / "run/status.json").read_text())
        return {name: row["pid"] for name, row in rows.items()}


def exists(pid: int) -> bool:
    """Whether a process runs that is not just waiting to be collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def mounts() -> str:
    return Path(f"/proc/{os.getpid()}/mountinfo").read_text()
