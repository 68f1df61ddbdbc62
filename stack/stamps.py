"""Remembers from what files something was made, so that a warm start does only what changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from stack.layout import Stack


def fresh(stack: Stack, name: str, files: Iterable[Path]) -> bool:
    """Whether `name` was last made from these very files."""
    path = stack.var / "stamps" / name
    return path.exists() and path.read_text() == _fingerprint(files)


def keep(stack: Stack, name: str, files: Iterable[Path]) -> None:
    path = stack.var / "stamps" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(_fingerprint(files))


def _fingerprint(files: Iterable[Path]) -> str:
    """Names, sizes and times: content is not read, so that a warm start stays quick."""
    digest = hashlib.sha256()
    for path in files:
        facts = path.stat()
        digest.update(f"{path} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    return digest.hexdigest()
