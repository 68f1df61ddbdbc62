"""What the simulated GPUs show: the scene of the job that has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpu.procfs import Proc
from gpu.whose import Whose
from stack.driver import scenes
from tests.gpu.test_whose import PERSON, Processes


@pytest.fixture
def whose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Whose:
    (tmp_path / "scenes").mkdir()
    (tmp_path / "proc").mkdir()
    monkeypatch.setattr(scenes, "FOLDER", tmp_path / "scenes")
    processes = Processes(tmp_path / "proc")
    processes.step(60, 4)
    processes.add(61, 60, env={"SLURM_JOB_GPUS": "1,3"})
    return Whose(Proc(str(tmp_path / "proc")))


def test_a_jobs_gpus_are_busy(whose: Whose) -> None:
    lines = scenes.scene(whose, "gpu01", "a100", 4).splitlines()
    assert lines[0] == "gpus 4 NVIDIA A100-SXM4-40GB (simulated)"
    assert [line for line in lines if "util wave" in line] == [
        f"gpu {index} util wave memory 30720 temp 66 sm 1410" for index in (1, 3)
    ]
    assert [line for line in lines if line.startswith("process")] == ["process 1 61 30720", "process 3 61 30720"]


def test_a_job_may_ask_for_other_scenes_of_its_own(whose: Whose) -> None:
    wish = scenes.FOLDER / "4"
    wish.write_text("throttled idle")
    os.chown(wish, PERSON, PERSON)
    text = scenes.scene(whose, "gpu01", "a100", 4)
    assert "gpu 1 util 97" in text and "gpu 3 util 0" in text
    os.chown(wish, PERSON + 1, PERSON + 1)
    assert "util wave" in scenes.scene(whose, "gpu01", "a100", 4)
    wish.unlink()
    wish.symlink_to("/etc/hostname")
    assert "util wave" in scenes.scene(whose, "gpu01", "a100", 4)


def test_root_may_write_a_nodes_scene(whose: Whose) -> None:
    (scenes.FOLDER / "gpu01").write_text("process 0 99 500\n")
    assert scenes.scene(whose, "gpu01", "a100", 4).splitlines()[-1] == "process 0 99 500"
    assert "process 0 99" not in scenes.scene(whose, "gpu02", "a100", 4)
