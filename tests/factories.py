"""One maker per thing; every argument has a plain default."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

from django.utils import timezone

from access.roles import Role
from accounts.models import User
from cluster.models import Cluster, Node, Partition
from projects import services as projects
from projects.models import Project
from quotas import services as quotas
from quotas.models import Allocation

_number = itertools.count(1)


def make_user(username: str = "", **fields: Any) -> User:
    """A person of the directory."""
    n = next(_number)
    name = username or f"demo{n}"
    fields.setdefault("uid_number", 20000 + n)
    fields.setdefault("display_name", f"{name.title()} Demo")
    return User.objects.create(username=name, **fields)


def make_project(code: str = "", *, members: dict[User, str] | None = None, **fields: Any) -> Project:
    """A project with members {user: role}."""
    code = code or f"proj{next(_number)}"
    fields = {
        "title": f"Project {code}",
        "slurm_account": code,
        "unix_group": code,
        "folder": f"/srv/var/projects/{code}",
        "partitions": ["gpu", "large", "prep"],
    } | fields
    project = projects.open_project(by=None, code=code, **fields)
    for user, role in (members or {}).items():
        projects.add_member(project=project, user=user, role=role, by=None)
    return project


def make_member(project: Project, role: str = Role.RESEARCHER, **fields: Any) -> User:
    """A person who is a member."""
    user = make_user(**fields)
    projects.add_member(project=project, user=user, role=role, by=None)
    return user


def make_allocation(project: Project, **fields: Any) -> Allocation:
    """The project's default allocation."""
    today = timezone.now().date()
    fields = {
        "code": "main",
        "title": "Main",
        "qos": f"{project.code}-main",
        "starts_on": today - timedelta(days=30),
        "ends_on": today + timedelta(days=300),
        "gpus_at_once": 8,
        "gpu_minutes": 60_000,
        "longest_minutes": 2880,
        "is_default": True,
    } | fields
    return quotas.create_allocation(project=project, by=None, **fields)


def make_cluster(name: str = "cluster") -> Cluster:
    """A cluster with the demo's partitions and nodes, seen just now."""
    now = timezone.now()
    cluster = Cluster.objects.create(
        name=name, slurm_version="22.05.8", simulated=True, jobs_seen_at=now, nodes_seen_at=now,
        partitions_seen_at=now, accounting_seen_at=now, answering_since=now,
    )  # fmt: skip
    for partition, nodes, kind, gpus in (
        ("gpu", ["gpu01", "gpu02"], "a100", 4), ("large", ["big01"], "h100", 8), ("prep", ["cpu01"], "", 0),
    ):  # fmt: skip
        Partition.objects.create(
            cluster=cluster, name=partition, state="UP", node_names=nodes, max_time_minutes=1440,
            default_time_minutes=60, max_nodes=None, cpus_per_node=32, memory_mb_per_node=128_000,
            gpu_types={kind: {"per_node": gpus, "total": gpus * len(nodes)}} if kind else {},
        )  # fmt: skip
        for node in nodes:
            Node.objects.create(
                cluster=cluster, name=node, states=["IDLE"], cpus=32, memory_mb=128_000,
                gpu_types={kind: gpus} if kind else {}, partition_names=[partition],
            )  # fmt: skip
    return cluster
