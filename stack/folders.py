"""The folders under var, with their owners: made before anything starts, from outside the namespace."""

from __future__ import annotations

import os
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
        _folder(stack.var / "projects" / project.code, 0, project.gid, 0o2770)
        _folder(stack.var / "projects" / project.code / "logs", 0, project.gid, 0o2770)


def _numbers(stack: Stack, owner: str, group: str) -> tuple[int, int]:
    return identities.numbers(stack, owner)[0], identities.numbers(stack, "root", group)[1]


def _folder(path: Path, uid: int, gid: int, mode: int) -> None:
    path.mkdir(exist_ok=True)
    os.chown(path, uid, gid)
    path.chmod(mode)
