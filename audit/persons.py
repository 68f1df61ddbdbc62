"""What the rooms hold on a person, what stands against taking their name away, and who takes it: each room says."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from django.utils.functional import Promise

Words = str | Promise


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """One kind of data held on a person: `where` the table, `why` it is held, rows of plain values."""

    title: Words
    where: str
    why: Words
    columns: tuple[Words, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: int = 0  # rows that are not shown


Teller = Callable[[Any], Iterable[Section]]
Hindrance = Callable[[Any], Iterable[Words]]
Eraser = Callable[[Any, str], None]
_tellers: dict[str, Teller] = {}
_hindrances: list[Hindrance] = []
_erasers: list[Eraser] = []


def register(
    name: str, *, tell: Teller | None = None, hinder: Hindrance | None = None, erase: Eraser | None = None
) -> None:
    """`tell(person)` gives sections, `hinder(person)` reasons; `erase(person, pseudonym)` replaces what a room has."""
    if tell is not None:
        _tellers[name] = tell
    if hinder is not None and hinder not in _hindrances:
        _hindrances.append(hinder)
    if erase is not None and erase not in _erasers:
        _erasers.append(erase)


def told(person: Any) -> list[Section]:
    """All that is held on a person."""
    return [section for tell in _tellers.values() for section in tell(person)]


def against(person: Any) -> list[Words]:
    """Why their name cannot be taken away now."""
    return [reason for hinder in _hindrances for reason in hinder(person)]


def erase(person: Any, pseudonym: str) -> None:
    """Each room replaces what it has, in one transaction of the caller's."""
    for act in _erasers:
        act(person, pseudonym)
