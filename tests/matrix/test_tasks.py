"""Celery's tasks name no tenant: they take no arguments, and nothing of ours sends them any."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from tests.matrix import routes
from tests.test_style import ROOT, modules, tree

# What each task does for everybody at once; a new one is declared here.
TASKS = {
    "slurm.hand_over", "slurm.carry_out", "slurm.renew_tickets", "slurm.apply_limits", "slurm.reconcile",
    "slurm.look_back", "slurm.sign_files", "slurm.measure_storage",
    "default.sync_directory", "default.note_sessions", "default.forget_sessions", "default.close_expired",
    "default.warn_allocations", "default.make_exports", "default.mail_checkpoints", "default.verify_trail",
    "default.note_trail_settings",
    "default.warn_datasets", "default.tell_notices", "slurm.operate", "default.look_at_gpus", "default.keep_gpu_summaries",
}  # fmt: skip
SENDS = {"delay", "apply_async", "send_task", "signature", "si", "delay_on_commit"}


def test_every_task_is_declared() -> None:
    assert set(routes.tasks()) == TASKS


def test_no_task_takes_an_argument() -> None:
    takes = {name: str(inspect.signature(task.run)) for name, task in routes.tasks().items()}  # type: ignore[attr-defined]
    assert {name: said for name, said in takes.items() if not said.startswith("()")} == {}


def test_one_place_sends_messages_and_it_sends_only_a_name() -> None:
    sends = [(where, call) for where, call in _calls() if _called(call) in SENDS]
    assert [where for where, _call in sends] == ["access/bells.py"]
    call = sends[0][1]
    assert len(call.args) == 1
    assert {one.arg for one in call.keywords}.isdisjoint({"args", "kwargs"})


def test_a_bell_is_rung_by_a_name_written_in_the_code() -> None:
    rings = [(where, call) for where, call in _calls() if _called(call) == "ring"]
    assert rings
    assert [where for where, call in rings if not _is_constant(call.args[0])] == []


def _calls() -> Iterator[tuple[str, ast.Call]]:
    for path in modules():
        where = str(path.relative_to(ROOT))
        if not where.startswith(("stack/", "client/", "docker/")):
            yield from ((where, node) for node in ast.walk(tree(path)) if isinstance(node, ast.Call))


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_constant(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return isinstance(node, ast.Constant) or name.isupper()
