"""Every action is in the catalogue once and is used; what code records is what the catalogue says it may."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from audit import catalogue
from audit.actions import Action, Outcome
from audit.catalogue import Kind, RetentionClass
from audit.mapping import TABLE
from audit.services import describing
from tests.test_style import ROOT, modules, tree

# what `trail.event` takes beside the detail
GIVEN = {"by", "about", "project", "outcome", "ran_as"}
CALLS = {"trail.record", "trail.event"}


def test_every_action_has_one_entry_and_every_number_one_meaning() -> None:
    assert Counter(entry.action for entry in catalogue.ALL) == Counter(Action)
    codes = Counter(entry.code_of(outcome) for entry in catalogue.ALL for outcome in Outcome)
    assert codes.most_common(1)[0][1] == 1
    assert catalogue.of("job.ended").code_of("failed") == 50132


def test_every_class_knows_its_actions() -> None:
    assert catalogue.of(Action.LOG_READ).retention_class is RetentionClass.ACCESS
    assert sum(len(catalogue.in_class(one)) for one in RetentionClass) == len(catalogue.ALL)


def _calls() -> Iterator[tuple[str, ast.Call]]:
    """Where the trail is written, outside of the trail's own plumbing."""
    for path in modules():
        where = str(path.relative_to(ROOT))
        if where.startswith(("client/", "slurm/", "logs/", "gpu/", "stack/")) or where == "audit/trail.py":
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in CALLS:
                yield f"{where}:{node.lineno}", node


def _actions_in(node: ast.AST) -> list[Action]:
    return [
        Action[one.attr]
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute) and ast.unparse(one.value) == "Action" and one.attr in Action.__members__
    ]


def test_what_code_records_is_declared() -> None:
    """Names written out at the call; what comes by `**` is looked at while the suite runs (tests/conftest.py)."""
    wrong = []
    for where, call in _calls():
        said = {keyword.arg for keyword in call.keywords if keyword.arg} - GIVEN
        for action in _actions_in(call.args[0]):
            undeclared = said - catalogue.of(action).fields
            wrong += [f"{where} {action}: {name}" for name in sorted(undeclared)]
    assert wrong == []


def test_every_action_is_used() -> None:
    used = {
        action
        for path in modules()
        if not str(path.relative_to(ROOT)).startswith(("audit/catalogue", "tests/"))
        for action in _actions_in(tree(path))
    }
    assert sorted(set(Action) - used) == []


def test_every_kind_is_said_in_both_vocabularies() -> None:
    assert set(TABLE) == set(Kind)
    assert all(1000 < row.ocsf_class < 7000 and row.ecs_category and row.ecs_type for row in TABLE.values())


def test_the_page_is_what_the_catalogue_says() -> None:
    call_command("event_catalogue", check=True)


def test_a_stale_page_is_told(settings: Any, tmp_path: Path) -> None:
    settings.BASE_DIR = tmp_path
    (tmp_path / "docs").mkdir()
    with pytest.raises(CommandError, match="stale"):
        call_command("event_catalogue", check=True)
    call_command("event_catalogue")
    call_command("event_catalogue", check=True)
    page = (tmp_path / "docs/audit-events.md").read_text()
    assert page == describing.page() and all(f"| `{entry.action.value}` |" in page for entry in catalogue.ALL)
