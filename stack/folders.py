"""The folders under var, with their owners: made before anything starts, from outside the namespace."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from stack import demo, identities
from stack.layout import FOLDERS, Stack


def make(stack: Stack) -> None:
    identities.write(stack)
    for path, owner, group, mode in FOLDERS:
        _folder(stack.var / path, *_numbers(stack, owner, group), mode)
    for person in demo.PEOPLE:
        _folder(stack.var / "home" / person.user, person.uid, person.uid, 0o700)
    for project in demo.PROJECTS:
        _project(stack, project)
    text = json.dumps(demo.as_json(), indent=2, ensure_ascii=False)
    if not (demo_file := stack.var / "demo.json").exists() or demo_file.read_text() != text:
        demo_file.write_text(text)


def _numbers(stack: Stack, owner: str, group: str) -> tuple[int, int]:
    return identities.numbers(stack, owner)[0], identities.numbers(stack, "root", group)[1]


def _project(stack: Stack, project: demo.DemoProject) -> None:
    """A folder of the project's group, set-group-id, with logs/, checkpoints/ and the examples in it."""
    folder = stack.var / "projects" / project.code
    for path in (folder, *(folder / name for name in ("logs", "examples", "checkpoints"))):
        _folder(path, 0, project.gid, 0o2770)
    for source in sorted(path for path in (stack.checkout / "examples").iterdir() if path.is_file()):
        target = folder / "examples" / source.name
        shutil.copyfile(source, target)
        os.chown(target, 0, project.gid)
        target.chmod(0o775 if source.suffix == ".sh" else 0o664)


def _folder(path: Path, uid: int, gid: int, mode: int) -> None:
    path.mkdir(exist_ok=True)
    os.chown(path, uid, gid)
    path.chmod(mode)
