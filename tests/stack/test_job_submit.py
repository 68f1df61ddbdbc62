"""contrib/job_submit.lua, judged by a real slurmctld: types added, untyped requests refused, the token kept."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from stack import layout
from tests.stack.running import CHECKOUT

pytestmark = pytest.mark.contract
TOKEN = "bancada:" + "0123456789abcdef" * 2
SCRIPT = "#!/bin/sh\nsleep 60\n"


def inside(*words: str, user: str = "davi", text: str | None = None) -> subprocess.CompletedProcess[str]:
    var = json.loads(Path(os.environ["BANCADA_STACK"]).read_text())["var"]
    line = [layout.PYTHON, "-m", "stack", "exec", "--var", var, "--user", user, "--", *words]
    return subprocess.run(line, cwd=CHECKOUT, input=text, capture_output=True, text=True, timeout=60)


def sbatch(*options: str) -> subprocess.CompletedProcess[str]:
    where = ["-D", "/srv/var/projects/visao", "-o", "logs/%j.out"]
    return inside("sbatch", "--parsable", "--hold", "-A", "visao", *where, *options, text=SCRIPT)


def shown(job: str) -> str:
    return inside("scontrol", "show", "job", job).stdout


@pytest.fixture
def submit():
    """Submit held; cancelled at the end."""
    jobs: list[str] = []

    def one(*options: str) -> str:
        done = sbatch(*options)
        assert done.returncode == 0, done.stderr
        jobs.append(done.stdout.strip())
        return jobs[-1]

    yield one
    for job in jobs:
        inside("scancel", job)


@pytest.mark.parametrize("request_", ["--gres=gpu:2", "--gpus-per-node=2"])
def test_an_untyped_request_gets_the_partitions_only_type(submit, request_: str) -> None:
    assert "gpu:a100:2" in shown(submit("-p", "gpu", request_))
    assert "gpu:h100:2" in shown(submit("-p", "large", request_))


def test_the_default_partition_counts_too(submit) -> None:
    assert "gpu:a100:1" in shown(submit("--gres=gpu:1"))


def test_a_typed_request_is_left_alone(submit) -> None:
    assert "gpu:h100:1" in shown(submit("-p", "large", "--gres=gpu:h100:1"))


def test_over_partitions_of_several_types_the_type_must_be_named() -> None:
    done = sbatch("-p", "gpu,large", "--gres=gpu:1")
    assert done.returncode != 0
    assert "Name the GPU type" in done.stderr


def test_a_job_without_gpus_is_left_alone(submit) -> None:
    assert "gpu" not in shown(submit("-p", "prep")).partition("TRES=")[2].splitlines()[0]


def test_the_token_is_kept_where_its_owner_cannot_rewrite_it(submit) -> None:
    job = submit("-p", "gpu", "--gres=gpu:a100:1", "--comment", TOKEN)
    inside("scontrol", "update", f"job={job}", "comment=mine")
    inside("scontrol", "update", f"job={job}", "admincomment=mine")
    text = shown(job)
    assert f"AdminComment={TOKEN}" in text
    assert " Comment=mine" in text


@pytest.mark.parametrize("comment", ["bancada:", f"{TOKEN}0", f"x{TOKEN}", TOKEN.replace("a", "g"), "hello"])
def test_any_other_comment_is_no_token(submit, comment: str) -> None:
    assert "AdminComment" not in shown(submit("-p", "prep", "--comment", comment))
