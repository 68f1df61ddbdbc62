"""The line that writes notes: run for real with bash and dash, it changes nothing a script can see of itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from jobs import notes, wrapping

GIT = {"GIT_AUTHOR_NAME": "d", "GIT_AUTHOR_EMAIL": "d@x.example", "GIT_COMMITTER_NAME": "d",
       "GIT_COMMITTER_EMAIL": "d@x.example", "HOME": "/nowhere", "PATH": os.environ["PATH"]}  # fmt: skip


def run(folder: Path, script: str, **env: str) -> subprocess.CompletedProcess[str]:
    """As Slurm runs it: the file itself, in the working directory."""
    (folder / "logs").mkdir(exist_ok=True)
    file = folder / "slurm_script"
    file.write_text(wrapping.wrapped(script, wrapping.notes_path(str(folder), "j1")))
    file.chmod(0o700)
    environment = {"PATH": os.environ["PATH"], "SLURM_JOB_ID": "7"} | env
    return subprocess.run([file], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def written(folder: Path, name: str = "j1-7.notes") -> dict[str, object]:
    return notes.parse((folder / "logs" / name).read_bytes())


@pytest.mark.parametrize(
    "shell", ["#!/bin/bash", "#!/bin/sh", "#!/usr/bin/env bash", "#!/bin/bash -eu", "#! /bin/dash"]
)
def test_output_exit_code_and_line_numbers_stay(tmp_path: Path, shell: str) -> None:
    done = run(tmp_path, f"{shell}\necho one $#\n# a comment\nno_such_command_here\nexit 3\n")
    assert done.stdout == "one 0\n"
    assert "line 4: no_such_command_here" in done.stderr or ": 4: no_such_command_here" in done.stderr
    assert done.returncode == (127 if "-eu" in shell else 3)
    found = written(tmp_path)
    assert found["complete"] and found["host"] and found["os"] and str(found["python"]).startswith("3.")
    assert found["packages"]


@pytest.mark.parametrize(
    "second", ["# comment", "", "set -e; cat <<END\n$(echo here)\nEND", "if true; then\necho x; fi", "   echo a \\\n b"]
)
def test_whatever_the_second_line_is(tmp_path: Path, second: str) -> None:
    script = f"#!/bin/bash\n{second}\necho last"
    plain = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    done = run(tmp_path, script)
    assert (done.stdout, done.stderr, done.returncode) == (plain.stdout, "", 0)


def test_a_script_that_fails_at_once_has_notes_too(tmp_path: Path) -> None:
    assert run(tmp_path, "#!/bin/bash\nexit 9\n").returncode == 9
    assert written(tmp_path)["complete"]


def test_a_log_folder_that_cannot_be_written_harms_nothing(tmp_path: Path) -> None:
    (tmp_path / "slurm_script").write_text(wrapping.wrapped("#!/bin/bash\necho ok\n", "/proc/no/$n.notes"))
    done = subprocess.run(["bash", tmp_path / "slurm_script"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("ok\n", "")


def test_the_commit_and_what_is_not_committed(tmp_path: Path) -> None:
    repository = tmp_path / "code"
    repository.mkdir()
    (repository / "train.py").write_text("lr = 1\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", *words], cwd=repository, env=GIT, check=True)
    (repository / "train.py").write_text("lr = 2\n")
    run(tmp_path, "#!/bin/bash\ncd code\npython3 train.py\n")
    one = written(tmp_path)["repositories"][0]  # type: ignore[index]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, text=True, check=True)
    assert one["commit"] == head.stdout.strip() and one["branch"] == "main"
    assert one["dirty"] == ["M train.py"] and "-lr = 1\n+lr = 2\n" in one["diff"]


def test_models_identities_and_driver_of_the_gpus(tmp_path: Path) -> None:
    """As nvidia-smi of two cards says it; one that hangs or prints something else leaves the rest of the notes whole."""
    said = (
        "0, NVIDIA A100-SXM4-40GB, GPU-5c1f, 550.54, 40960\\n1, NVIDIA A100-SXM4-40GB, GPU-77aa, 550.54, 40960\\nerror"
    )
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\nprintf '{said}'\n")
    tool.chmod(0o755)
    run(tmp_path, "#!/bin/bash\nexit 1\n", PATH=f"{tool.parent}:{os.environ['PATH']}")
    found = written(tmp_path)
    first, second = found["gpus"]  # type: ignore[misc]
    assert first == {"index": "0", "model": "NVIDIA A100-SXM4-40GB", "uuid": "GPU-5c1f", "driver": "550.54",
                     "memory_mb": "40960"}  # fmt: skip
    assert second["uuid"] == "GPU-77aa" and found["complete"] and found["packages"]


def test_seeds_and_chosen_variables_only(tmp_path: Path) -> None:
    run(tmp_path, "#!/bin/bash\ntrue\n", TRAIN_SEED="42", SECRET="s3cret", CUDA_VISIBLE_DEVICES="1")
    assert written(tmp_path)["vars"] == ["CUDA_VISIBLE_DEVICES=1", "TRAIN_SEED=42"]


def test_of_an_array_the_first_task_writes(tmp_path: Path) -> None:
    array = {"SLURM_ARRAY_JOB_ID": "5", "SLURM_ARRAY_TASK_MIN": "1"}
    run(tmp_path, "#!/bin/bash\ntrue\n", SLURM_ARRAY_TASK_ID="2", **array)
    assert not list((tmp_path / "logs").iterdir())
    run(tmp_path, "#!/bin/bash\ntrue\n", SLURM_ARRAY_TASK_ID="1", **array)
    assert written(tmp_path, "j1-5.notes")["complete"]


@pytest.mark.parametrize(
    "script", ["#!/usr/bin/env python3\nprint(1)\n", "#!/bin/bash", "#!/usr/bin/perl\n1;\n", "#!/bin/fish\nx\n"]
)
def test_what_is_no_shell_script_stays_as_it_is(script: str) -> None:
    assert wrapping.wrapped(script, "/x/$n") == script


def test_hostile_notes_are_only_text() -> None:
    assert notes.parse(b"") == notes.parse(b"\xff\x00") == {}
    found = notes.parse(
        b"bancada 1\nhost a\x1b[31m\x00b\ngpu 1,2\npackage " + b"x" * 9999 + b"\n|lost\nnonsense\nhost other\n"
    )
    assert found["host"] == "a\ufffd[31m\ufffdb" and found["gpus"] == [] and len(found["packages"][0]) == notes.LINE
    assert not found["complete"]


def test_the_number_of_everything_is_bounded() -> None:
    lines = (
        b"package p 1\n" * 2000 + b"git /a\n" + b"dirty M x\n" * 2000 + b"|" + b"d" * 100 + b"\n" + b"|dd\n" * 100_000
    )
    found = notes.parse(b"bancada 1\n" + lines)
    assert len(found["packages"]) == 400 and len(found["repositories"][0]["dirty"]) == 200
    assert len(found["repositories"][0]["diff"]) <= notes.DIFF + notes.LINE
