"""The agent with a uid of its own and CAP_SYS_PTRACE alone, as the stack starts it: it sees what it has to, and may no more."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pynvml
import pytest

from stack.services import agents
from tests.gpu.conftest import EIGHT, ROOT, TOKEN, parse
from tests.gpu.scraping import until

AGENT, PERSON, JOB = 64017, 64018, "4711"
SYS_PTRACE = 1 << 19
STEP = (  # a batch step as Slurm runs it: slurmstepd of root's, and below it a person's process with the job's variables
    "exec -a 'slurmstepd: [{job}.batch]' {folder}/slurmstepd -c '"
    "setpriv --reuid {person} --regid {person} --clear-groups env -i SLURM_JOB_ID={job} SLURM_JOB_GPUS=5 sleep 300 & wait'"
)
pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root gives a process another uid")


@pytest.fixture
def folder(driver: Path) -> Iterator[Path]:
    """What the agent needs, where its uid can read it."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        shutil.copytree(ROOT / "gpu", place / "gpu", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(pynvml.__file__, place)
        shutil.copytree(driver, place / "driver")
        (place / "driver").chmod(0o755)
        shutil.copy("/bin/dash", place / "slurmstepd")
        (place / "scene").write_text(EIGHT)
        (place / "token").write_text(TOKEN)
        yield place


@pytest.fixture
def step(folder: Path) -> Iterator[int]:
    """A job of PERSON's that Slurm gave GPU 5."""
    words = ["bash", "-c", STEP.format(job=JOB, folder=folder, person=PERSON)]
    with subprocess.Popen(words, start_new_session=True) as running:
        yield running.pid
        os.killpg(running.pid, signal.SIGKILL)


@pytest.fixture
def agent(folder: Path, step: int) -> Iterator[tuple[int, int]]:
    """(pid, port), started by the words of the stack."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    own = [
        word.replace(f"={agents.USER}", f"={AGENT}").replace("--init-groups", "--clear-groups") for word in agents.DROP
    ]
    words = [*own, *agents.KEEP, "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable, "-m"]
    words += ["gpu.agent", "--port", str(port), "--token-file", f"{folder}/token"]
    env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": f"{folder}/driver", "BANCADA_SCENE": f"{folder}/scene"}
    with subprocess.Popen(words, cwd=folder, env=env | {"PYTHONPATH": str(folder)}) as running:
        yield running.pid, port
        running.terminate()


def _readings(port: int) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return parse(answer.read().decode())
    except urllib.error.URLError:
        return {}


def test_it_sees_whose_a_card_is_with_one_capability_and_no_more(agent: tuple[int, int]) -> None:
    pid, port = agent
    until(lambda: any(name == "bancada_gpu_allocated" and ("slurm_job", JOB) in own for name, own in _readings(port)))
    found = [dict(own) for name, own in _readings(port) if name == "bancada_gpu_allocated"]
    # a job of a Slurm beside this test is seen as well: only this one's is its own
    assert {own["gpu"] for own in found if own["slurm_job"] == JOB} == {"5"}, found
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    assert status["Uid"].split() == [str(AGENT)] * 4
    for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == SYS_PTRACE, name
    names = {name for name, own in _readings(port) if ("slurm_job", JOB) in own}
    assert {"bancada_job_cpu_seconds_total", "bancada_job_memory_bytes"} <= names
    assert "bancada_job_read_bytes_total" not in names  # CAP_DAC_READ_SEARCH it has not
