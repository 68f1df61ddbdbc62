"""A project with its people, a preset of the site and one of the project, and an environment."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from access.roles import Role, SiteRole
from presets import services
from presets.models import PresetVersion, Software
from tests.factories import make_allocation, make_cluster, make_member, make_project, make_user

SCRIPT = "#!/bin/bash\ntrue\n"
RULES: dict[str, Any] = {
    "partition": {"mode": "default", "value": "gpu"},
    "gpus": {"mode": "default", "value": 1, "min": 1, "max": 2},
    "nodes": {"mode": "fixed", "value": 1},
    "script": {"mode": "default", "value": SCRIPT},
}


class Bench:
    """Who may do what, and to what."""

    def __init__(self) -> None:
        self.cluster = make_cluster()
        self.project = make_project("visao")
        make_allocation(self.project)
        self.pi = make_member(self.project, Role.PI)
        self.manager = make_member(self.project, Role.MANAGER)
        self.member = make_member(self.project)
        self.other = make_member(make_project("atlas"), Role.PI)
        self.operator = make_user(site_role=SiteRole.OPERATOR)
        self.site = self.preset("single")
        self.own = self.preset("ours", project=self.project)

    def preset(self, code: str, **fields: Any) -> PresetVersion:
        """In its first version."""
        facts: dict[str, Any] = {"project": None, "title": code.title(), "rules": RULES, "by": self.operator}
        return services.add(code=code, **(facts | fields))

    def software(self, **fields: Any) -> Software:
        """PyTorch as modules."""
        facts: dict[str, Any] = {"name": "pytorch", "version": "2.5", "modules": "cuda/12.4 pytorch/2.5"}
        return services.add_software(by=self.operator, validated_on=date(2026, 11, 1), **(facts | fields))


@pytest.fixture
def bench(db: None) -> Bench:
    return Bench()
