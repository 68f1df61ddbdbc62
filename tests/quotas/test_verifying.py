"""What is looked at outside the portal before a project counts as working: group, folders, and who is in the group."""

from __future__ import annotations

import grp
import os
from pathlib import Path
from typing import Any

import pytest

from projects.models import Project
from quotas.services import ticks
from tests.factories import make_project

pytestmark = pytest.mark.django_db
GROUP = grp.getgrgid(os.getgid())


@pytest.fixture
def place(tmp_path: Path) -> Project:
    """A project whose folder and folder for outputs are as they should be."""
    for folder in (tmp_path / "p", tmp_path / "p" / "logs"):
        folder.mkdir()
        folder.chmod(0o2770)
    return make_project(folder=str(tmp_path / "p"), unix_group=GROUP.gr_name)


def files(project: Project, *logins: str) -> dict[str, Any]:
    seen: dict[str, Any] = ticks.verify(project, logins, queue="")["files"]
    return seen


def test_all_is_there(place: Project) -> None:
    assert files(place, "root") == {"ok": True, "words": "", "command": ""}


def test_without_a_folder_for_outputs_every_job_would_fail(place: Project) -> None:
    Path(place.folder, "logs").rmdir()
    seen = files(place)
    assert "logs" in seen["words"] and seen["command"].endswith(f"{place.folder} {place.folder}/logs")


@pytest.mark.parametrize(("closed", "ok"), [("p", False), ("logs", True)])
def test_a_folder_that_lets_in_its_group_alone_hides_the_one_for_outputs_and_that_is_not_wrong(
    place: Project, monkeypatch: pytest.MonkeyPatch, closed: str, ok: bool
) -> None:
    """The worker is of no project's group, and 2770 keeps it out."""
    stat = Path.stat

    def shut(path: Path, **more: Any) -> os.stat_result:
        if path.name == closed:
            raise PermissionError
        return stat(path, **more)

    monkeypatch.setattr(Path, "stat", shut)
    assert files(place)["ok"] is ok


@pytest.mark.parametrize("name", ["", "logs"])
def test_a_folder_the_group_cannot_write_to(place: Project, name: str) -> None:
    Path(place.folder, name).chmod(0o2750)
    assert files(place)["command"] == f"chmod 2770 {Path(place.folder, name)}"


def test_who_is_not_in_the_group_is_named_with_the_command(place: Project) -> None:
    seen = files(place, "root", "nobody")
    assert not seen["ok"] and seen["missing"] == ["nobody"]
    assert seen["command"] == f"gpasswd -a nobody {GROUP.gr_name}"


def test_somebody_the_cluster_does_not_know_is_the_other_ticks_business(place: Project) -> None:
    assert files(place, "no-such-login")["ok"]


def test_the_sites_program_is_not_called_again_and_again(
    place: Project, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ticks, "_asked_until", {})
    hook, calls = tmp_path / "hook", tmp_path / "calls"
    hook.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexit 1\n')
    hook.chmod(0o755)
    settings.SITE_HOOK = str(hook)
    Path(place.folder, "logs").rmdir()
    for _ in range(3):
        assert not files(place)["ok"]
    assert len(calls.read_text().splitlines()) == 1
