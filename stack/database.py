"""Brings the portal's database and static files up to date: only what changed since the last time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stack import manage, stamps
from stack.layout import Stack

Say = Callable[[str], None]
# django_htmx brings copies of htmx we do not serve, and whose text the hashing of module imports trips over
COLLECT = ["collectstatic", "--noinput", "--clear", "-v", "0", "--ignore", "django_htmx"]


def prepare(stack: Stack, say: Say) -> bool:
    """Migrations, roles and grants, the demo's rows, static files; whether the demo was filled in just now."""
    if not (stack.checkout / "manage.py").exists():
        return False
    code = sorted(stack.checkout.glob("*/migrations/*.py")) + sorted(stack.checkout.glob("portal/**/*.py"))
    _once(stack, "setup_roles", code, ["setup_roles"], say)
    ready = [*code, *stack.checkout.glob("presets/**/*.py"), *stack.checkout.glob("presets/delivered/*.toml")]
    _once(stack, "deliver_presets", sorted(ready), ["deliver_presets"], say)
    seed = list(stack.checkout.glob("*/management/commands/seed_demo.py"))
    filled = bool(seed) and _once(stack, "seed_demo", [*seed, *code, stack.var / "demo.json"], ["seed_demo"], say)
    files = [path for path in (stack.checkout / "static").rglob("*") if path.is_file()]
    _once(stack, "collectstatic", files, COLLECT, say)
    return filled


def _once(stack: Stack, name: str, files: list[Path], words: list[str], say: Say) -> bool:
    if stamps.fresh(stack, name, files):
        return False
    manage.run(stack, *words)
    stamps.keep(stack, name, files)
    say(f"{name:<16} done")
    return True
