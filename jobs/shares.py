"""How much a run used of what it asked for, beside the person's last ones of its name. Pure: numbers in, rows out."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text

FEWEST = 2  # runs before anything is called usual


@dataclasses.dataclass(frozen=True, slots=True)
class Shares:
    """Of one run, from 0 to 1 (memory may be above); None where it was not measured, or not asked for.

    `active`: of its GPU-hours; `gpu_memory`: of its fullest GPU's; `cpus`: busy on average; `memory`: peak of a node.
    """

    active: float | None = None
    gpu_memory: float | None = None
    cpus: float | None = None
    memory: float | None = None


TERMS = {
    "active": _("GPU-hours active"), "gpu_memory": _("GPU memory, fullest"), "cpus": _("CPUs busy"),
    "memory": _("Memory, peak"),
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Beside:
    """One measure of this run and its mean over `jobs` earlier ones."""

    key: str
    term: Text
    own: float
    usual: float
    jobs: int


def beside(own: Shares, others: Sequence[Shares]) -> Iterator[Beside]:
    """Each measure that this run and enough others have."""
    for key, term in TERMS.items():
        value = getattr(own, key)
        known = [share for one in others if (share := getattr(one, key)) is not None]
        if value is not None and len(known) >= FEWEST:
            yield Beside(key, term, round(value, 4), round(statistics.fmean(known), 4), len(known))


def share(used: float | None, asked: float | None) -> float | None:
    """None where either is not known, or nothing was asked for."""
    return used / asked if used is not None and asked else None
