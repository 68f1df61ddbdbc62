"""The presets that come with the portal: each a request the demo takes, brought in once and again without harm."""

from __future__ import annotations

import ast
import copy
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.services import prepare
from presets import delivering, services
from presets.models import Preset
from presets.rules import faults
from tests.presets.conftest import Bench

ROOT = Path(__file__).resolve().parents[2]
ALL = delivering.read()


def test_all_kinds_are_there_and_their_words_are_translated() -> None:
    assert [one.code for one in ALL] == [
        "single-gpu", "multi-gpu", "multi-node", "fine-tune", "sweep", "preprocess", "batch-inference",
        "checkpoint-continue",
    ]  # fmt: skip
    said = [word for one in ALL for word in (one.title, one.about)]
    assert tuple(said) == delivering.WORDS


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.code)
def test_each_is_a_request_the_demo_takes(bench: Bench, one: delivering.Delivered) -> None:
    assert faults(one.rules) == {}
    delivering.deliver([one])
    partition = "prep" if one.code == "preprocess" else "gpu"
    spec, _allocation = prepare({"preset": one.code, "partition": partition}, project=bench.project, by=bench.member)
    assert spec.options.preset == f"{one.code}@1" and spec.script.startswith("#!/bin/bash\nset -")
    done = subprocess.run(["bash", "-n"], input=spec.script, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.code)
def test_each_runs_an_example_that_needs_numpy_and_scikit_learn_only(one: delivering.Delivered) -> None:
    names = set(re.findall(r"examples/\w+\.py", one.rules["script"]["value"]))
    assert names
    allowed = {
        "numpy",
        "sklearn",
        "torch",
        *sys.stdlib_module_names,
        *(path.stem for path in ROOT.glob("examples/*.py")),
    }
    for path in (ROOT / name for name in names):
        used = {node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)}
        modules = {
            (node.module if isinstance(node, ast.ImportFrom) else one.name).split(".")[0]  # type: ignore[union-attr]
            for node in used for one in node.names
        }  # fmt: skip
        assert modules <= allowed, modules - allowed


def test_brought_in_twice_is_the_same_and_a_changed_file_another_version(bench: Bench) -> None:
    assert delivering.deliver(ALL) == len(ALL) and delivering.deliver(ALL) == 0
    changed = copy.deepcopy(ALL[0])
    changed.rules["cpus"]["value"] = 8
    assert delivering.deliver([changed]) == 1
    assert services.find("single-gpu", project=bench.project).number == 2


def test_what_somebody_changed_or_retired_here_stays(bench: Bench) -> None:
    delivering.deliver(ALL)
    row = Preset.objects.get(code="single-gpu")
    mine = services.change(preset=row, title="Ours", rules={}, by=bench.operator)
    services.retire(preset=Preset.objects.get(code="sweep"), by=bench.operator)
    assert delivering.deliver(ALL) == 0
    assert services.find("single-gpu", project=bench.project) == mine
    assert Preset.objects.get(code="sweep").retired_at is not None
    services.add(project=None, code="extra", title="Extra", rules={}, by=bench.operator)
    assert delivering.deliver([ALL[0]._replace(code="extra")]) == 0, "one that people made is theirs"
