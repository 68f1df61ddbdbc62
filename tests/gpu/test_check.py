"""`make gpu-check`: skipped in words without a driver, and what it says of one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.gpu.conftest import EIGHT, ROOT


def check(env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "gpu.check", "--passes", "1"]
    return subprocess.run(words, cwd=ROOT, env={"PATH": os.environ["PATH"], **env}, capture_output=True, text=True)


def test_without_a_gpu_it_says_so_and_passes() -> None:
    done = check({})
    assert done.returncode == 0
    assert "skipped, this machine has no GPU" in done.stdout


def test_with_gpus_it_says_their_readings(driver: Path, tmp_path: Path) -> None:
    scene = tmp_path / "scene"
    scene.write_text(EIGHT + "gpu 1 util 50\n")
    done = check({"LD_LIBRARY_PATH": str(driver), "BANCADA_SCENE": str(scene)})
    assert "8 GPUs" in done.stdout and "GPU 1: used 0, total 4.29497e+10" in done.stdout
    assert "utilization 0.5" in done.stdout
    scene.write_text(EIGHT + "gpu 2 lost 1\n")
    done = check({"LD_LIBRARY_PATH": str(driver), "BANCADA_SCENE": str(scene)})
    assert done.returncode == 1 and "GPU 2:" in done.stdout
