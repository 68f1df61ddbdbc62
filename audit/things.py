"""What the trail speaks of and lies in rooms above it: each room says here how its things are found by a code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Finder = Callable[[str], Iterable[Any]]
_known: dict[str, Finder] = {}


def register(kind: str, finder: Finder) -> None:
    """`kind` is "person", "project", "dataset" or "job"; called once, by the app that has them (AppConfig.ready)."""
    _known[kind] = finder


def find(kind: str, code: str) -> Any:
    """The thing with this code (login, number), or None: also where there is no such kind here."""
    return next(iter(_known[kind](code)), None) if kind in _known and code else None


def keys(kind: str, code: str) -> list[Any]:
    """The keys of all that go by this code."""
    return [one.pk for one in _known[kind](code)] if kind in _known else []


def numbers(kind: str, code: str) -> list[int]:
    """`keys`, where they are numbers."""
    return [int(key) for key in keys(kind, code)]
