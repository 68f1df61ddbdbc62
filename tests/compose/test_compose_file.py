"""The compose file against the table of the private stack, and against what it promises: no root, no open door."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from stack.environment import ROLES
from stack.layout import FOLDERS, Stack
from stack.table import table

ROOT = Path(__file__).resolve().parents[2]
ONCE = {"init", "migrate", "story"}
NODES = ("gpu01", "gpu02", "big01", "prep01")
ROOT_BY_NEED = {"init", "opener", "files", *(f"{kind}-{node}" for kind in ("slurmd", "agent") for node in NODES)}
STORES = {"run-pg", "run-redis", "run-mariadb"}


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def mounts(service: dict[str, Any]) -> dict[str, str]:
    """Volume to the folder it is mounted at."""
    return {entry.split(":")[0]: entry.split(":")[1] for entry in service.get("volumes", [])}


def test_it_has_the_services_of_the_stack_and_starts_each_by_its_name(services: dict[str, Any], tmp_path: Path) -> None:
    names = [one.name for one in table(Stack(ROOT, tmp_path, 18600, spread=True))]
    assert set(services) - ONCE == set(names)
    assert all(services[name]["command"] == [name] for name in names)


def test_each_runs_as_the_user_of_the_table(services: dict[str, Any], tmp_path: Path) -> None:
    for one in table(Stack(ROOT, tmp_path, 18600, spread=True)):
        assert services[one.name].get("user", "root") == one.user, one.name


def test_root_is_for_those_who_become_somebody_else(services: dict[str, Any]) -> None:
    assert {name for name, service in services.items() if "user" not in service} == ROOT_BY_NEED
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert ("cap_add" in service) == (name in ROOT_BY_NEED), name
        assert not service.get("privileged"), name


def test_what_stays_up_is_read_only_bounded_and_looked_after(services: dict[str, Any]) -> None:
    for name in set(services) - ONCE:
        service = services[name]
        assert service["read_only"], name
        assert service["mem_limit"], name
        assert service["healthcheck"]["test"] == ["CMD", "healthy", name], name


def test_only_the_door_is_published_and_on_loopback(services: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert list(published) == ["nginx"]
    assert all(port.startswith("127.0.0.1:") for port in published["nginx"])


def test_a_job_reaches_no_store_no_secret_and_no_portal(services: dict[str, Any]) -> None:
    members: dict[str, set[str]] = {}
    for name, service in services.items():
        for network in service.get("networks", []):
            members.setdefault(network, set()).add(name)
    nodes = {name for name in services if name.startswith("slurmd-")}
    assert members["nodes"] == nodes | {"slurmctld"}
    for name in nodes:
        assert list(services[name]["networks"]) == ["nodes"]
        assert not set(mounts(services[name])) & STORES
        assert not [volume for volume in mounts(services[name]) if volume.startswith("secrets")]


def test_an_agent_sees_the_processes_of_its_own_node_and_no_job_reaches_it(services: dict[str, Any]) -> None:
    for node in NODES:
        agent = services[f"agent-{node}"]
        assert agent["pid"] == f"service:slurmd-{node}"
        assert agent["networks"] == ["watch"]
        assert set(mounts(agent)) == {"run-scenes", "secrets-agent"}
        assert "slurmd" not in str(services["prometheus"]["networks"])


def test_the_stores_have_no_network_at_all(services: dict[str, Any]) -> None:
    for name in ("postgres", "redis-broker", "redis-hints", "mariadb", "munge", "signer", "opener", "files", "reader"):
        assert services[name]["network_mode"] == "none", name


def test_only_the_slurm_worker_and_the_follower_reach_slurm(services: dict[str, Any]) -> None:
    for volume in ("run-slurmrestd", "run-signer"):
        users = {name for name, service in services.items() if volume in mounts(service)}
        assert users - {"init", "slurmrestd", "signer"} == {"worker-slurm", "follower"}


def test_no_two_containers_but_init_share_the_key_of_tokens(services: dict[str, Any]) -> None:
    for volume, owner in (
        ("secrets-signer", "signer"),
        ("secrets-worker", "worker-slurm"),
        ("secrets-sealer", "sealer"),
    ):
        assert {name for name, service in services.items() if volume in mounts(service)} == {"init", owner}


def test_every_volume_is_prepared_by_init_where_it_is_used(services: dict[str, Any]) -> None:
    prepared = mounts(services["init"])
    for name, service in services.items():
        for volume, folder in mounts(service).items():
            if folder != "/srv/var/secrets":
                assert prepared[volume] == folder, (name, volume)
    known = {f"/srv/var/{path}" for path, *_ in FOLDERS}
    assert all(folder in known or "/handed/" in folder for folder in prepared.values())


def test_every_database_role_that_signs_in_has_a_container(services: dict[str, Any]) -> None:
    users = {service.get("user", "").removeprefix("bancada-") for service in services.values()}
    assert set(ROLES) <= users


def test_every_image_comes_from_debian_or_from_this_file(services: dict[str, Any]) -> None:
    text = (ROOT / "Dockerfile").read_text()
    stages = re.findall(r"^FROM (\S+) AS (\S+)$", text, re.M)
    assert len(stages) == text.count("FROM ")
    known = {"debian:trixie-slim"}
    for source, name in stages:
        assert source in known
        known.add(name)
    targets = {service["build"]["target"] for service in services.values() if "build" in service}
    assert targets <= known
    built = {service["image"] for service in services.values() if "build" in service}
    assert {service["image"] for service in services.values()} == built
    assert not re.search(r"\bADD\b|curl|wget|https?://", text)


def test_real_gpus_take_the_place_of_one_nodes_placeholders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docker"))
    import real_gpus

    (tmp_path / "slurm.conf").write_text("NodeName=gpu01 CPUs=1 Gres=gpu:a100:4\nNodeName=big01 Gres=gpu:h100:8\n")
    (tmp_path / "gres.conf").write_text("NodeName=gpu01 Name=gpu Type=a100 File=/gpus/gpu01-[0-3]\n")
    (tmp_path / "job_submit.lua").write_text('gpu = { "a100" }')
    real_gpus.put(tmp_path, 2, "h200")
    assert (tmp_path / "slurm.conf").read_text() == (
        "NodeName=gpu01 CPUs=1 Gres=gpu:h200:2\nNodeName=big01 Gres=gpu:h100:8\n"
    )
    assert (tmp_path / "gres.conf").read_text() == "NodeName=gpu01 Name=gpu Type=h200 File=/dev/nvidia[0-1]\n"
    assert (tmp_path / "job_submit.lua").read_text() == 'gpu = { "h200" }'
    with pytest.raises(SystemExit):
        real_gpus.put(tmp_path, 1, "a 100")
    sys.modules.pop("real_gpus")
