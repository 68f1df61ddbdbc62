"""Asking for no limit of an amount: amounts named as the form names them, e.g. gpu_minutes or gpus_by_type__a100."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from quotas.models import Allocation, Share

BY_TYPE = ("gpu_minutes_by_type", "gpus_by_type")


def limits(row: Any) -> Iterator[str]:
    """The amounts an allocation (or what is asked for) limits; of nothing, none."""
    for name in Share.LIMITS:
        if getattr(row, name, None) is not None:
            yield name
    for name in BY_TYPE:
        yield from (f"{name}__{kind}" for kind in sorted(getattr(row, name, None) or {}))


def known(names: Iterable[str]) -> bool:
    """Whether each of them names an amount there can be."""
    return all(
        plain in (BY_TYPE if kind else Share.LIMITS) for plain, _, kind in (one.partition("__") for one in names)
    )


def asked_both(row: Any, names: Iterable[str]) -> list[str]:
    """Those of which an amount is asked for as well."""
    return sorted(set(names) & set(limits(row)))


def kept(names: Collection[str], given: Mapping[str, Any]) -> list[str]:
    """Without those of which an amount is given after all."""
    plain = {name for name in Share.LIMITS if given.get(name) is not None}
    typed = {f"{name}__{kind}" for name in BY_TYPE for kind in given.get(name) or {}}
    return [name for name in names if name not in plain | typed]


def lifted(allocation: Allocation, names: Collection[str]) -> dict[str, Any]:
    """Fields of the allocation once these limits are gone."""
    found: dict[str, Any] = {name: None for name in names if name in Share.LIMITS}
    for name in BY_TYPE:
        now = getattr(allocation, name)
        if any(one.startswith(f"{name}__") for one in names):
            found[name] = {kind: value for kind, value in now.items() if f"{name}__{kind}" not in names}
    return found
