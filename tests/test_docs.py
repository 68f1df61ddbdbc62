"""What the documents point at exists: files, and the tests that are named as proof."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import cast

import pytest

from portal.api import api
from portal.api_auth import Token

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PLACED_BY_HAND = {"docs/img/job.png"}  # a picture of a running portal


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", path.read_text())
    absent = [name for name in targets if name not in PLACED_BY_HAND and not (path.parent / name).exists()]
    assert absent == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_in_code_type_exist(path: Path) -> None:
    """`jobs/bells.py`, `docs/operate.md`: what looks like one of our files is one."""
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_0-9.]+\.(?:py|md|js|lua|conf|toml|css|po))`", path.read_text())
    absent = [name for name in named if not (ROOT / name).exists() and not (ROOT / "tests" / name).exists()]
    assert absent == []


def test_every_test_named_as_proof_exists() -> None:
    named = set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", (ROOT / "docs" / "threats.md").read_text()))
    assert len(named) > 20
    assert sorted(f"{file}::{name}" for file, name in named if name not in proofs_in(ROOT / "tests" / file)) == []


def proofs_in(path: Path) -> set[str]:
    if not path.exists():
        return set()
    nodes = ast.walk(ast.parse(path.read_text()))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_both_readmes_have_the_same_parts() -> None:
    english, portuguese = ((ROOT / name).read_text() for name in ("README.md", "README.pt-BR.md"))
    for mark in ("## ", "| ", "    make "):
        count = [sum(line.startswith(mark) for line in text.splitlines()) for text in (english, portuguese)]
        assert count[0] == count[1], mark


_ROUTE = re.compile(r"((?:`[A-Z]+`, )*)`([A-Z]+) (/[^`?]*)(?:\?[^`]*)?`")


def routes_named(text: str) -> set[tuple[str, str]]:
    """`GET`, `POST /a/{b}` is ("GET", "/a/{}") and ("POST", "/a/{}")."""
    return {
        (method, re.sub(r"\{[^}]*\}", "{}", path))
        for more, last, path in _ROUTE.findall(text)
        for method in (*re.findall(r"[A-Z]+", more), last)
    }


def test_every_operation_of_the_api_is_on_its_page_and_no_other() -> None:
    """In full, so that a search for the path finds it; what is not below /api/v1 has a part of its own."""
    described = api.get_openapi_schema()["paths"]
    wanted = {
        (method.upper(), re.sub(r"\{[^}]*\}", "{}", path.removeprefix("/api/v1")))
        for path, operations in described.items()
        for method in operations
    }
    page = (ROOT / "docs" / "api.md").read_text().partition("## Health and metrics")[0]
    assert len(wanted) > 100
    assert sorted(wanted - routes_named(page)) == [], "not on the page"
    assert sorted(routes_named(page) - wanted) == [], "on the page, not in the API"


def test_every_operation_takes_the_scope_that_the_page_says() -> None:
    rows = re.findall(r"^\| `(submit|audit)` \| (.*) \|$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    places = {place: scope for scope, row in rows for place in re.findall(r"(?<=`)/[^`]*", row)}
    assert {"/jobs", "/audit"} <= places.keys()
    for router in api._get_bound_routers():
        for path, view in router.path_operations.items():
            whole = f"{router.prefix}/{path.lstrip('/')}"
            scope = next((scope for place, scope in places.items() if f"{whole}/".startswith(f"{place}/")), "manage")
            read = None if router.prefix == "/me" else "audit" if scope == "audit" else "read"
            for operation in view.operations:
                token = cast(Token, operation.auth_callbacks[0])
                needed, said = (token.read, read) if operation.methods == ["GET"] else (token.write, scope)
                assert needed == said, (operation.methods, whole)
