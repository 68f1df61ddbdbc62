"""The lines of a manifest, and two of them side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import translation

from jobs import manifest
from jobs.models import Job, Run
from projects.models import Project

NOTES: dict[str, Any] = {
    "host": "gpu01", "os": "Debian 12", "python": "3.11.2 /usr/bin/python3", "packages": ["numpy 2.1.0", "Pillow 11"],
    "gpus": [{"index": "0", "model": "A100", "uuid": "GPU-1", "driver": "570.1", "memory_mb": "81920"}],
    "vars": ["CUDA_VISIBLE_DEVICES=0", "PYTHONHASHSEED=7"],
    "repositories": [{"folder": "/srv/x/code", "commit": "a" * 40, "branch": "main", "dirty": ["M t.py"], "diff": "-a\n"}],
}  # fmt: skip


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    with translation.override("en"):
        yield


def job(**changes: Any) -> Job:
    facts = {
        "project": Project(code="seg"), "name": "x", "script": "#!/bin/sh\npython3 t.py --seed 42\n", "digest": "d",
        "environment": {"LR": "0.1", "HF_TOKEN": "s3cret"}, "partition": "gpu", "gpus": 1, "gpu_type": "a100",
        "datasets": [{"code": "rm", "version": "2"}], "options": {"software": "torch@2.5"},
    }  # fmt: skip
    return Job(**(facts | changes))


def said(lines: list[manifest.Line]) -> dict[str, str]:
    return {line.key: line.value for line in lines}


def test_everything_that_is_known() -> None:
    found = said(manifest.lines(job(), [Run(node_list="gpu01")], NOTES))
    assert found["data.rm"] == "rm@2" and found["option.software"] == "torch@2.5" and found["gpus"] == "1 a100"
    assert (
        found["seed.--seed" if "seed.--seed" in found else "seed.seed"] == "42" and found["seed.PYTHONHASHSEED"] == "7"
    )
    assert found["gpu.0"] == "A100 · GPU-1" and found["driver"] == "570.1" and found["code.0.commit"] == "a" * 40
    assert found["package.numpy"] == "2.1.0" and found["env.CUDA_VISIBLE_DEVICES"] == "0"
    assert "env.PYTHONHASHSEED" not in found


def test_secrets_are_hidden_and_still_compared() -> None:
    first = manifest.lines(job(), [], {})
    second = manifest.lines(job(environment={"LR": "0.1", "HF_TOKEN": "other"}), [], {})
    assert "s3cret" not in str([line.value for line in first])
    pair = manifest.compare(first, second)[0]
    assert (pair.label, pair.first, pair.second, pair.same) == ("HF_TOKEN", "hidden", "hidden, another", False)


def test_differences_come_first() -> None:
    other = NOTES | {"packages": ["numpy 1.26.0"], "host": "gpu02"}
    pairs = manifest.compare(manifest.lines(job(), [], NOTES), manifest.lines(job(), [], other))
    assert {(pair.label, pair.first, pair.second) for pair in pairs if not pair.same} == {
        ("Node", "gpu01", "gpu02"), ("numpy", "2.1.0", "1.26.0"), ("Pillow", "11", ""),
    }  # fmt: skip
    assert [pair.same for pair in pairs] == sorted(pair.same for pair in pairs)


def test_without_notes_the_request_is_told() -> None:
    assert "partition" in said(manifest.lines(job(), [], {}))
