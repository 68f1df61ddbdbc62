"""Nodes and queues as CSV: what the page shows, to whom it shows it, and no cell a spreadsheet would calculate."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from accounts.models import User
from cluster.models import Node
from tests.factories import make_cluster, make_user
from tests.pages import signed_in

pytestmark = pytest.mark.django_db


def rows(user: User, table: str) -> list[dict[str, str]]:
    answer: Any = signed_in(user).get(f"/cluster/{table}.csv", headers={"Accept-Language": "en"})
    assert answer.status_code == 200 and answer["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(b"".join(answer).decode().lstrip("\ufeff"))))


def test_nodes_as_the_page_has_them_and_the_reason_for_administrators_only() -> None:
    node = Node.objects.create(
        cluster=make_cluster(), name="gpu77", cpus=16, memory_mb=8000, gpu_types={"a100": 4}, reason="=1+1"
    )
    [seen] = [row for row in rows(make_user("ana"), "nodes") if row["node"] == node.name]
    assert (seen["GPUs"], seen["CPUs"], seen["memory (MB)"]) == ("4", "16", "8000") and "reason" not in seen
    [told] = [row for row in rows(make_user(site_role="operator"), "nodes") if row["node"] == node.name]
    assert told["reason"] == "'=1+1"


def test_queues_as_the_page_has_them() -> None:
    make_cluster()
    found = {row["queue"]: row for row in rows(make_user("ana"), "queues")}
    assert found["gpu"]["waiting"] == "0" and set(found) >= {"gpu", "prep"}
