"""Four ticks from what the worker saw: nothing seen is being checked, what is absent has words and a command."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import translation

from access.roles import Role
from jobs import ticks
from quotas.models import Enforcement
from tests.api import issue
from tests.factories import make_member, make_project

GOOD = {name: {"ok": True} for name in ticks.NAMES}


def test_nothing_seen_is_being_checked() -> None:
    assert [tick.state for tick in ticks.of(None)] == ["checking"] * 4
    assert [tick.state for tick in ticks.of({})] == ["checking"] * 4


def test_each_stands_for_itself() -> None:
    bad = {"ok": False, "words": "The folder is not there.", "command": "install -d /srv/x"}
    with translation.override("en"):
        seen = ticks.of(GOOD | {"files": bad})
    assert [tick.state for tick in seen] == ["ok", "absent", "ok", "ok"]
    assert (seen[1].words, seen[1].command) == ("The folder is not there.", "install -d /srv/x")


def test_missing_logins_are_named() -> None:
    (login, *_rest) = ticks.of(
        GOOD | {"login": {"ok": False, "missing": ["ana", "davi"], "command": "getent passwd ana"}}
    )
    with translation.override("en"):
        assert "ana, davi" in ticks.of({"login": {"ok": False, "missing": ["ana", "davi"]}})[0].words
    assert login.missing == ("ana", "davi") and login.is_absent


def test_words_of_the_worker_are_said_in_the_readers_language() -> None:
    with translation.override("pt-br"):
        files = ticks.of({"files": {"ok": False, "words": "The folder is not there.", "command": ""}})[1]
    assert files.words != "The folder is not there."


@pytest.mark.django_db
def test_the_api_says_how_a_project_stands(client: Client) -> None:
    project = make_project()
    pi = make_member(project, Role.PI)
    bad = {"ok": False, "words": "The folder is not there.", "command": "install -d /srv/x"}
    Enforcement.objects.create(project=project, change_applied=10**6, ticks=GOOD | {"files": bad})
    headers = {"Authorization": f"Bearer {issue(pi)}", "Accept-Language": "en"}
    said = client.get(f"/api/v1/projects/{project.code}/standing", headers=headers).json()
    assert (said["state"], said["differences"]) == ("applied", 0)
    assert [tick["state"] for tick in said["ticks"]] == ["ok", "absent", "ok", "ok"]
    assert said["ticks"][1]["command"] == "install -d /srv/x"
