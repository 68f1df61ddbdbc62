"""Act and event share one transaction, wherever services write the trail: read from the code, call by call.

`tests/matrix/test_one_fate.py` stops every door that changes something at each of its events. What workers do has no
door; here each call that writes an event must lie within `atomic`, itself or at every place it is called from.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache

from tests.test_style import ROOT, modules, tree

WRITES = {"trail.record", "trail.record_all"}
# They tell of what changes nothing here: a refusal, a read, what somebody else's system said; or one row alone.
ALONE = {
    "accounts/directory/sync.py _alarm": "an alarm",
    "accounts/services/identify.py _record": "a sign-in refused",
    "audit/services/answering.py answered": "a read",
    "audit/services/reporting.py of": "a read",
    "audit/services/unseen.py back_again": "what was not seen",
    "datasets/reports.py datasets_csv": "a read",
    "datasets/reports.py incidents_csv": "a read",
    "datasets/reports.py permissions_csv": "a read",
    "datasets/reports.py processing_csv": "a read",
    "datasets/reports.py uses_csv": "a read",
    "datasets/reports.py versions_csv": "a read",
    "datasets/services/using.py refused": "a refusal",
    "jobs/services/acting.py _told": "an act on Slurm, which shares no transaction: the intent stands before it",
    "jobs/services/gpus/showing.py note": "a read",
    "jobs/services/reading.py download": "a read",
    "jobs/services/reading.py note": "a read",
    "portal/denied.py record": "a denial",
}
Where = tuple[str, str]  # path, function


@cache
def functions() -> dict[Where, ast.FunctionDef]:
    """Every function of ours by where it stands."""
    found = {}
    for path in modules():
        where = str(path.relative_to(ROOT))
        if not where.startswith(("client/", "slurm/", "logs/", "gpu/", "stack/", "docker/")):
            found |= {(where, node.name): node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef)}
    return found


def _is_atomic(node: ast.FunctionDef) -> bool:
    return any("atomic" in ast.unparse(one) for one in node.decorator_list)


@cache
def calls() -> dict[str, list[tuple[Where, bool]]]:
    """Name called -> (who calls it, whether within a transaction of their own)."""
    found: dict[str, list[tuple[Where, bool]]] = defaultdict(list)
    for where, node in functions().items():
        for call, within in _calls_in(node.body, _is_atomic(node)):
            found[call].append((where, within))
    return found


@cache
def named() -> dict[str, list[tuple[str, Where, bool]]]:
    """The same by the last part of the name: (the name as it is written, who calls it, whether within a transaction)."""
    found: dict[str, list[tuple[str, Where, bool]]] = defaultdict(list)
    for name, callers in calls().items():
        found[name.rpartition(".")[2]] += [(name, *one) for one in callers]
    return found


def _calls_in(body: list[ast.stmt], within: bool) -> list[tuple[str, bool]]:
    """Every name that is called or handed on, with whether a `with transaction.atomic()` is around it."""
    found = []
    for statement in body:
        for node in _walk(statement):
            if isinstance(node, ast.With):
                inner = within or any("atomic" in ast.unparse(item.context_expr) for item in node.items)
                found += _calls_in(node.body, inner)
            elif isinstance(node, ast.Attribute | ast.Name):
                found.append((ast.unparse(node), within))
    return found


def _walk(node: ast.AST) -> list[ast.AST]:
    """All below, but not into a `with` (it is looked at by itself) nor into another function."""
    found = [node]
    if isinstance(node, ast.With):
        return found + [one for item in node.items for one in _walk(item.context_expr)]
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef):
            found += _walk(child)
    return found


def covered(where: Where, seen: frozenset[Where] = frozenset()) -> bool:
    """Whether every way to this function leads through a transaction."""
    if where in seen or _is_atomic(functions()[where]):
        return True
    callers = [(by, within) for name, by, within in named().get(where[1], []) if _means(name, by, where)]
    return bool(callers) and all(within or covered(by, seen | {where}) for by, within in callers)


def _means(name: str, by: Where, where: Where) -> bool:
    """Whether a name, as it is written there, is this function: in its own file, imported, or by its module's name."""
    base, _dot, last = name.rpartition(".")
    if last != where[1] or by == where:
        return False
    if not base:
        return by[0] == where[0] or _imports(by[0], last, where[0])
    if base == "services":  # every room has one
        return _imports(by[0], base, where[0])
    return base.rpartition(".")[2] in where[0].removesuffix(".py").split("/")


def _imports(path: str, name: str, where: str) -> bool:
    """Whether a file imports this name from that file, or from a package around it; another's namesake is another."""
    found = (module for module, names in _lines(path) if re.search(rf"\b{name}\b", names))
    return any(where.startswith(module.replace(".", "/")) for module in found)


@cache
def _lines(path: str) -> list[tuple[str, str]]:
    """(module, what stands behind `import`) of each line."""
    return re.findall(r"from ([\w.]+) import ([^\n]*)", (ROOT / path).read_text())


def writers() -> list[tuple[Where, bool]]:
    """Who writes the trail, outside of views and the trail itself, and whether within a transaction of their own."""
    found = [one for name in WRITES for one in calls()[name]]
    doors = ("/views/", "/api", "views.py", "consumers", "portal/api", "/management/")
    return [(where, within) for where, within in found if not any(door in where[0] for door in doors)]


def test_every_event_of_a_service_is_written_within_a_transaction() -> None:
    assert len(writers()) > 80
    wrong = {f"{where[0]} {where[1]}" for where, within in writers() if not within and not covered(where)}
    assert wrong == set(ALONE)


def test_a_service_without_a_transaction_would_be_found() -> None:
    node = ast.parse("def act():\n    row.save()\n    trail.record(1)\n").body[0]
    assert isinstance(node, ast.FunctionDef)
    assert ("trail.record", False) in _calls_in(node.body, _is_atomic(node))
    node = ast.parse("def act():\n    with transaction.atomic():\n        trail.record(1)\n").body[0]
    assert isinstance(node, ast.FunctionDef)
    assert ("trail.record", True) in _calls_in(node.body, _is_atomic(node))
