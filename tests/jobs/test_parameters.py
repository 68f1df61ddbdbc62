"""A sweep's table reaches its tasks: as variables in shells, run for real, and as JSON elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.utils.translation import override

from jobs import parameters, wrapping
from jobs.models import Handover, Job
from jobs.services import submissions
from jobs.services.people import Identity
from jobs.specs import BadSpec, check
from tests.factories import make_cluster, make_member, make_project

ROWS: list[dict[str, Any]] = [
    {"learning-rate": 0.05, "name": 'it\'s "$HOME" `x` \\ é', "deep": True},
    {"learning-rate": 1e-05, "name": "", "deep": False},
]


def run(folder: Path, script: str, task: int) -> str:
    whole = wrapping.wrapped(script, wrapping.notes_path(str(folder), "j"), parameters.exports([3, 7], ROWS))
    file = folder / "slurm_script"
    file.write_text(whole)
    file.chmod(0o700)
    env = {"PATH": os.environ["PATH"], "SLURM_ARRAY_TASK_ID": str(task)}
    return subprocess.run([file], env=env, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("shell", ["#!/bin/bash", "#!/bin/sh"])
def test_each_task_has_its_own_row_whatever_stands_in_it(tmp_path: Path, shell: str) -> None:
    script = f'{shell}\nset -eu\nprintf "%s|%s|%s" "$PARAM_LEARNING_RATE" "$PARAM_NAME" "$PARAM_DEEP"\n'
    assert run(tmp_path, script, 3) == '0.05|it\'s "$HOME" `x` \\ é|true'
    assert run(tmp_path, script, 7) == "1e-05||false"


def test_programs_started_by_the_script_have_it_too(tmp_path: Path) -> None:
    script = "#!/bin/bash\npython3 -c 'import os; print(os.environ[\"PARAM_LEARNING_RATE\"])'\n"
    assert run(tmp_path, script, 7) == "1e-05\n"


def test_line_numbers_stay(tmp_path: Path) -> None:
    whole = wrapping.wrapped("#!/bin/bash\necho $LINENO", "/x/$n.notes", parameters.exports([0], ROWS[:1]))
    assert whole.count("\n") == 1 and whole.endswith("esac; echo $LINENO")


def test_without_a_table_nothing_is_added() -> None:
    assert parameters.exports([1, 2], []) == ""


@pytest.mark.django_db
def test_what_is_sent_to_slurm() -> None:
    project = make_project("visao")
    job = Job(
        project=project, script="#!/bin/bash\ntrue\n", name="s", cpus=1, cluster=make_cluster(),
        options={"array": "3,7", "parameters": ROWS}, owner=make_member(project),
    )  # fmt: skip
    who = Identity(login="davi", uid=20004, home="/h", shell="/bin/bash")
    asked = submissions.submission_of(job, Handover(job=job), who)
    assert "7) export PARAM_LEARNING_RATE=1e-05" in asked.script and "BANCADA_PARAMETERS" not in asked.environment
    job.script = "#!/usr/bin/python3\nprint(1)\n"
    asked = submissions.submission_of(job, Handover(job=job), who)
    assert asked.script == job.script
    assert json.loads(asked.environment["BANCADA_PARAMETERS"])["3"]["PARAM_LEARNING_RATE"] == "0.05"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("rows", "script", "said"),
    [
        ([{"lr": 1, "LR": 2}], "#!/bin/bash\ntrue", "case"),
        ([{"a.b": 1, "a-b": 2}], "#!/bin/bash\ntrue", "case"),
        ([{f"c{n}": "x" * 500 for n in range(20)}] * 30, "#!/bin/bash\ntrue", "256 KiB"),
        ([{f"c{n}": "x" * 500 for n in range(20)}] * 10, "#!/usr/bin/python3\n1", "96 KiB"),
    ],
)
def test_a_table_that_cannot_be_given(rows: list[dict[str, Any]], script: str, said: str) -> None:
    with override("en"), pytest.raises(BadSpec) as bad:
        check({"name": "s", "script": script, "parameters": rows}, project=make_project("visao"), partitions=[])
    assert said in bad.value.errors["parameters"][0]


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ('#!/bin/bash\npython3 a.py --rate "$PARAM_RATE" "${PARAM_NAME}"\n', "python3 a.py --rate 0.1 'a b'"),
        ("x\n./run --out=$PARAM_RATE/${PARAM_NAME:-none}.txt\n", "./run --out=0.1/a b.txt"),
        ('echo "$PARAM_RATE"\npython3 "r=$PARAM_RATE" $PARAM_RATES\n', 'python3 "r=0.1" $PARAM_RATES'),
        ("echo $PARAM_RATE\n", "echo 0.1"),
        ("# $PARAM_RATE\npython3 a.py\n", ""),
        ("", ""),
    ],
)
def test_the_first_command_that_names_a_value(script: str, shown: str) -> None:
    assert parameters.command(script, {"PARAM_RATE": "0.1", "PARAM_NAME": "a b"}) == shown
