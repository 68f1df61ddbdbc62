"""What the documents point at exists: files, and the tests that are named as proof."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

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
