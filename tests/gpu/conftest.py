"""A node with eight simulated GPUs: the agent as a process, through the real pynvml and our stand-in driver."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stack.driver.build import build

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "a-token-of-the-tests-0123456789"
EIGHT = "gpus 8 NVIDIA A100-SXM4-40GB (simulated)\n"
_LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
Readings = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parse(text: str) -> Readings:
    """{(series, labels): value}; a line that is none fails."""
    found: Readings = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = _LINE.match(line)
            assert match, line
            found[match[1], frozenset(_LABEL.findall(match[2] or ""))] = float(match[3])
    return found


class Agent:
    """A running agent and its scene."""

    def __init__(self, folder: Path, driver: Path | None, *options: str) -> None:
        self.scene_file, token = folder / "scene", folder / "token"
        token.write_text(TOKEN)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        words = [sys.executable, "-m", "gpu.agent", "--port", str(self.port), "--token-file", str(token), *options]
        env = {"PATH": os.environ["PATH"], "BANCADA_SCENE": str(self.scene_file)}
        env |= {"LD_LIBRARY_PATH": str(driver)} if driver else {}
        self.process = subprocess.Popen(words, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True)

    def scene(self, text: str) -> None:
        self.scene_file.write_text(EIGHT + text)
        stamp = time.time_ns()
        os.utime(self.scene_file, ns=(stamp, stamp))

    def get(self, token: str = TOKEN, path: str = "/metrics") -> str:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()

    def readings(self) -> Readings:
        return parse(self.get())

    def value(self, name: str, **labels: str) -> float | None:
        """The one reading of this series that has these labels, among others."""
        rows = [
            v for (series, own), v in self.readings().items() if series == name and labels.items() <= dict(own).items()
        ]
        assert len(rows) < 2, (name, labels, rows)
        return rows[0] if rows else None

    def until(self, true: Callable[[], object], seconds: float = 8) -> None:
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, self.get()
            time.sleep(0.1)

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.process.stderr.read() if self.process.stderr else ""
        try:
            return bool(self.get())
        except OSError:
            return False

    def ready(self) -> Agent:
        deadline = time.monotonic() + 10
        while not self._answers():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return self

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(5)


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the stand-in driver."""
    return build(tmp_path_factory.mktemp("driver")).parent


@pytest.fixture(scope="module")
def agent(driver: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """One agent for a file of tests; each writes its scene."""
    folder = tmp_path_factory.mktemp("agent")
    (folder / "scene").write_text(EIGHT)
    running = Agent(folder, driver)
    try:
        yield running.ready()
    finally:
        running.close()


@pytest.fixture
def start(driver: Path, tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    """`start(scene, *options)`: an agent of one's own; scene None: without a driver."""
    running: list[Agent] = []

    def begin(scene: str | None, *options: str) -> Agent:
        folder = tmp_path / str(len(running))
        folder.mkdir()
        (folder / "scene").write_text(EIGHT + (scene or ""))
        running.append(Agent(folder, driver if scene is not None else None, *options))
        return running[-1].ready()

    yield begin
    for one in running:
        one.close()


__all__ = ["EIGHT", "TOKEN", "Agent", "parse", "urllib"]
