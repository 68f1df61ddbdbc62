"""The budgets of the house: how long functions, files and templates are, and what no file of ours may say."""

from __future__ import annotations

import ast
import base64
import re
import statistics
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = (
    "portal", "jobs", "quotas", "datasets", "presets", "storage", "projects", "accounts", "cluster",
    "audit", "access", "slurm", "logs", "gpu", "files",
)  # fmt: skip
BESIDE = ("stack", "client/bancada", "docker")
# Templates over 60 lines, each with the reason why it is one piece.
LONG_TEMPLATES: dict[str, str] = {}
# Names of the places where this is built must not reach whoever installs it. Kept unreadable, or this file would
# hold what it looks for.
_NOT_OURS = re.compile(
    base64.b64decode(
        "L3dvcmsvKD86bWFpbnxzaGFyZWR8YnJpZWYpfFwubGlicmFyeS98YnJpZWYvUlVMRVNcLm1kfC9vcHQvKD86d2hlZWxzfHB5cGkpfG5w"
        "bWpzXC4oPzpvcmd8Y29tKXxweXBpXC5vcmd8XGJjbGF1ZGVcYnxcYmFudGhyb3BpY1xifFxiY2hhdGdwdFxifFxibGFuZ3VhZ2UgbW9k"
        "ZWxcYnxcYnN1Yi0/YWdlbnRzXGI="
    ).decode(),
    re.IGNORECASE,
)


def modules() -> list[Path]:
    """Our Python files, less migrations."""
    found = [path for room in (*ROOMS, *BESIDE) for path in (ROOT / room).rglob("*.py")]
    return sorted(path for path in [*found, ROOT / "manage.py"] if "migrations" not in path.parts)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def lengths(path: Path) -> list[tuple[int, str]]:
    """(lines, where) of every function: from `def` to its last line, without decorators and docstring."""
    return [
        (_lines(node), f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring


def count(path: Path) -> int:
    return len(path.read_text().splitlines())


def tracked() -> list[Path]:
    """The files git knows, or would take: what somebody gets who clones this."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_functions_are_short() -> None:
    all_of_them = [row for path in modules() for row in lengths(path)]
    assert [where for lines, where in all_of_them if lines > 50] == []
    ninety = statistics.quantiles([lines for lines, _where in all_of_them], n=10)[-1]
    assert ninety <= 25, f"p90 is {ninety}"


def test_files_are_short() -> None:
    sizes = {path.relative_to(ROOT): count(path) for path in modules()}
    assert {str(path): lines for path, lines in sizes.items() if lines > 350} == {}
    over = {str(path): lines for path, lines in sizes.items() if lines > 250}
    assert len(over) <= len(sizes) / 10, over


def test_every_module_says_what_it_is_for() -> None:
    silent = [path for path in modules() if not ast.get_docstring(tree(path)) and path.read_text().strip()]
    assert [str(path.relative_to(ROOT)) for path in silent] == []


def test_nothing_is_called_utils() -> None:
    names = {"utils.py", "util.py", "helpers.py", "misc.py"}
    assert [str(path.relative_to(ROOT)) for path in modules() if path.name in names] == []


def test_our_own_flow_has_no_signals() -> None:
    """django-axes and the directory's library have theirs; ours are calls one can follow."""
    ours = re.compile(r"django\.db\.models(\.| import )signals|django\.dispatch|\b(post_save|post_delete|pre_delete)\b")
    assert [str(path.relative_to(ROOT)) for path in modules() if ours.search(path.read_text())] == []


def test_templates_are_short() -> None:
    sizes = {str(path.relative_to(ROOT / "templates")): count(path) for path in (ROOT / "templates").rglob("*.html")}
    assert sizes
    assert {name: lines for name, lines in sizes.items() if lines > 60 and name not in LONG_TEMPLATES} == {}
    assert [name for name in LONG_TEMPLATES if sizes.get(name, 0) <= 60] == []


def test_templates_compare_no_role() -> None:
    compares = re.compile(r"{%-?\s*(?:el)?if[^%]*\brole\s*(?:==|!=|in)\s")
    found = [path for path in (ROOT / "templates").rglob("*.html") if compares.search(path.read_text())]
    assert [str(path.relative_to(ROOT)) for path in found] == []


def test_nothing_left_for_later() -> None:
    later = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XXX)\b")
    assert [str(path.relative_to(ROOT)) for path in modules() if later.search(path.read_text())] == []


def test_no_file_names_the_place_it_was_built_in() -> None:
    found = []
    for path in tracked():
        text = path.read_bytes().decode("utf-8", "replace")
        found += [f"{path.relative_to(ROOT)}: {hit.group()}" for hit in _NOT_OURS.finditer(text)]
    assert found == []


def test_the_pattern_finds_what_it_looks_for() -> None:
    assert _NOT_OURS.search("see /wo" + "rk/main/jobs")
    assert not _NOT_OURS.search("the shared/main folder, workers and frameworks")
