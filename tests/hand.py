"""A hand in the portal of a running stack: Python lines run in its web process's place, one after the other."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_LOOP = """
import json, sys
from accounts.models import User
from projects import services as projects
from projects.models import Membership, Project
from quotas import services as quotas
from quotas.models import Allocation, Enforcement
for line in sys.stdin:
    said = None
    try:
        exec(json.loads(line))
        print("\\x01" + json.dumps(["ok", said]), flush=True)
    except Exception as error:
        print("\\x01" + json.dumps(["no", f"{type(error).__name__}: {error}"]), flush=True)
"""


class Hand:
    """`hand("said = Project.objects.count()")` gives what `said` is then; an exception there is one here."""

    def __init__(self, var: Path) -> None:
        line = [
            sys.executable,
            "-m",
            "stack",
            "manage",
            "--var",
            str(var),
            "--user",
            "web",
            "shell",
            "-v",
            "0",
            "-c",
            _LOOP,
        ]
        self._process = subprocess.Popen(line, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, code: str) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(code) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("\x01"):
                word, said = json.loads(line[1:])
                assert word == "ok", said
                return said
        raise AssertionError(f"the hand is gone: {self._process.wait()}")

    def close(self) -> None:
        """It ends with its input."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)


@contextmanager
def opened(var: Path) -> Iterator[Hand]:
    """A hand, until it is needed no more."""
    made = Hand(var)
    yield made
    made.close()
