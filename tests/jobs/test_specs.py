"""JobSpec: what is complete passes, and every wrong field is named."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.models import Partition
from jobs import specs
from projects.models import Project

PROJECT = Project(code="visao", partitions=["gpu", "prep", "mixed"])
PARTITIONS = [
    Partition(
        name="gpu", node_names=["gpu01", "gpu02"], gpu_types={"a100": {"per_node": 4, "total": 8}},
        max_time_minutes=1440, cpus_per_node=16, memory_mb_per_node=64_000,
    ),
    Partition(name="prep", node_names=["cpu01"], gpu_types={}, max_time_minutes=60, cpus_per_node=8, memory_mb_per_node=32_000),
    Partition(
        name="mixed", node_names=["m01", "m02"], cpus_per_node=16, memory_mb_per_node=64_000, max_nodes=1,
        gpu_types={"a100": {"per_node": 4, "total": 4}, "h100": {"per_node": 8, "total": 8}},
    ),
    Partition(name="large", node_names=["big01"], gpu_types={"h100": {"per_node": 8, "total": 8}}),
]  # fmt: skip
GOOD = {"name": "treino-1", "partition": "gpu", "gpus": 1, "script": "#!/bin/bash\ntrue\n"}


def check(**changes: Any) -> specs.JobSpec:
    return specs.check(GOOD | changes, project=PROJECT, partitions=PARTITIONS)


def wrong(**changes: Any) -> set[str]:
    with pytest.raises(specs.BadSpec) as bad:
        check(**changes)
    return set(bad.value.errors)


def test_the_only_gpu_type_is_filled_in_and_defaults_are_complete() -> None:
    spec = check()
    assert (spec.gpu_type, spec.nodes, spec.cpus, spec.memory_mb, spec.time_limit_minutes) == ("a100", 1, 1, 4096, 60)


def test_where_there_are_several_types_one_must_be_named() -> None:
    assert wrong(partition="mixed") == {"gpu_type"}
    assert check(partition="mixed", gpu_type="h100", gpus=8).gpu_type == "h100"


def test_no_gpu_no_type() -> None:
    assert check(partition="prep", gpus=0, gpu_type="a100").gpu_type == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""), ("name", None), ("name", "two\nlines"), ("name", "esc\x1b[31m"), ("name", "../../x"), ("name", "-x"),
        ("name", "a" * 65), ("name", "%j"), ("name", "a\x00b"), ("name", 7),
        ("script", ""), ("script", "echo no shebang"), ("script", "#!/bin/sh\n\x00"), ("script", "#!/bin/sh\r\ntrue\r\n"),
        ("script", "#!/bin/sh\n" + "x" * (4 * 1024 * 1024)), ("script", None), ("script", "#!/bin/sh\n\ud800"),
        ("partition", "nowhere"), ("partition", ""), ("partition", "large"), ("partition", None),
        ("gpus", 5), ("gpus", -1), ("gpus", "many"), ("gpus", 1.5), ("gpus", True), ("gpus", "1e3"), ("gpus", 10**13),
        ("nodes", 0), ("nodes", 3), ("cpus", 0), ("cpus", 17), ("memory_gb", 0), ("memory_gb", 63),
        ("time_limit_minutes", 0), ("time_limit_minutes", 1441), ("gpu_type", "h100"),
        ("environment", {"LD_PRELOAD": "x"}), ("environment", {"SLURM_CONF": "x"}), ("environment", {"BASH_ENV": "x"}),
        ("environment", {"LD_LIBRARY_PATH": "/x"}), ("environment", {"GLIBC_TUNABLES": "x"}), ("environment", {"GCONV_PATH": "/x"}),
        ("environment", {"SBATCH_UID": "0"}), ("environment", {"ENV": "/x"}),
        ("environment", {"A B": "x"}), ("environment", {"OK": "two\nlines"}), ("environment", [1]), ("environment", {"OK": "\ud800"}), ("environment", {"PATH": "/x"}),
    ],
)  # fmt: skip
def test_each_bad_input_is_named_beside_its_field(field: str, value: object) -> None:
    assert wrong(**{field: value}) == {field}


def test_more_than_all_nodes_have_is_refused() -> None:
    assert wrong(partition="mixed", gpu_type="a100", gpus=5) == {"gpus"}


def test_all_wrong_fields_are_named_at_once() -> None:
    assert wrong(name="", gpus="x", script="", partition="gone") == {"name", "gpus", "script", "partition"}


def test_the_same_request_has_the_same_digest_and_another_has_another() -> None:
    digest = check().digest(project="visao", allocation="main")
    assert digest == check(gpus="1", gpu_type="a100").digest(project="visao", allocation="main")
    assert digest != check(gpus=2).digest(project="visao", allocation="main")
    assert digest != check().digest(project="atlas", allocation="main")


@given(st.dictionaries(st.sampled_from([*GOOD, "nodes", "cpus", "memory_gb", "environment"]), st.one_of(
    st.none(), st.text(), st.integers(), st.floats(), st.booleans(), st.lists(st.text()), st.dictionaries(st.text(), st.text()),
)))  # fmt: skip
def test_whatever_comes_it_is_a_spec_or_a_bad_spec(raw: dict[str, Any]) -> None:
    try:
        spec = specs.check(GOOD | raw, project=PROJECT, partitions=PARTITIONS)
    except specs.BadSpec as bad:
        assert bad.errors
    else:
        assert spec.script.startswith("#!") and "\r" not in spec.script and spec.gpus <= 4


def test_where_the_partition_sets_no_limit_the_number_still_has_one() -> None:
    assert wrong(partition="mixed", gpu_type="a100", time_limit_minutes=10**9) == {"time_limit_minutes"}
