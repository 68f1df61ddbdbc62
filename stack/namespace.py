"""The stack's private mount namespace: short fixed paths, its own passwd, group and hosts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from stack.layout import INSIDE_CHECKOUT, INSIDE_VAR, MARKER, Stack

UNSHARE = ("unshare", "--mount", "--propagation", "private")


def build(stack: Stack) -> None:
    """Called by the supervisor, already alone in its namespace: lay out /srv and bind the three files of names."""
    staging = stack.var / ".ns"
    staging.mkdir(exist_ok=True)
    _mount("-t", "tmpfs", "-o", "mode=755,size=1m", "stack", str(staging))
    for source, target in _binds(stack, staging):
        _bind(source, target)
    (staging / Path(MARKER).name).write_text(stack.marker)
    _mount("--move", str(staging), "/srv")
    for name in ("passwd", "group", "hosts"):
        _mount("--bind", str(INSIDE_VAR / "etc" / name), f"/etc/{name}")
    if Path("/run/nscd").is_dir():  # it would answer with the system's own names
        _mount("-t", "tmpfs", "-o", "mode=755,size=4k", "stack", "/run/nscd")
    os.chdir(INSIDE_CHECKOUT)


def _binds(stack: Stack, staging: Path) -> Iterator[tuple[Path, Path]]:
    """var and checkout; a checkout folder closed to others (a fresh temporary one) is bound entry by entry."""
    inside = staging / INSIDE_CHECKOUT.name
    yield stack.var, staging / INSIDE_VAR.name
    if stack.checkout.stat().st_mode & 0o005 == 0o005:
        yield stack.checkout, inside
        return
    for entry in stack.checkout.iterdir():
        if entry.name != ".git" and not entry.is_symlink():
            yield entry, inside / entry.name


def _bind(source: Path, target: Path) -> None:
    if source.is_dir():
        target.mkdir(parents=True)
    else:
        target.touch()
    _mount("--bind", str(source), str(target))


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def enter(pid: int) -> Sequence[str]:
    """The start of a command line that runs the rest inside the namespace of `pid`."""
    return ("nsenter", "--target", str(pid), "--mount", "--root", "--wd=/srv")


def members(stack: Stack) -> list[int]:
    """Every process inside this stack's namespace, whoever started it: its /srv carries this stack's mark."""
    return [
        int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _belongs(entry, stack.marker)
    ]


def _belongs(process: Path, marker: str) -> bool:
    try:
        return (process / "root" / MARKER.lstrip("/")).read_text() == marker
    except OSError:
        return False
