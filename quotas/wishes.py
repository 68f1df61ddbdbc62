"""What a request asks for, amount by amount in words, beside what the allocation gives now."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from quotas import words
from quotas.models import Allocation, AllocationRequest, Share

PLAIN = tuple(name for name in AllocationRequest.AMOUNTS if name in Share.LIMITS)
TYPED = {"gpu_minutes_by_type": "gpu_minutes", "gpus_by_type": "gpus_at_once"}  # and the name of one of them
DAYS = ("starts_on", "ends_on")


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One amount: the form's name for it, what people call it, and in words now ("" of a new one) and asked ("")."""

    field: str
    name: str
    now: str
    asked: str


def lines(row: AllocationRequest, types: Iterable[str]) -> Iterator[Line]:
    """Every amount there is, of these GPU types too, asked for or not."""
    for name in PLAIN:
        yield _line(row, name, str(words.LIMITS[name]), getattr(row, name), getattr(row.allocation, name, None))
    for kind in types:
        for name in TYPED:
            now = getattr(row.allocation, name, {}).get(kind)
            label = f"{kind.upper()}: {words.LIMITS[TYPED[name]]}"
            yield _line(row, name, label, getattr(row, name).get(kind), now, kind)
    now = ", ".join(row.allocation.partitions or [_("all of the project's")]) if row.allocation else ""
    yield Line("partitions", str(words.LIMITS["partitions"]), now, ", ".join(row.partitions))
    for name, label in zip(DAYS, (_("from"), _("until")), strict=True):
        yield Line(name, label, _day(getattr(row.allocation, name, None)), _day(getattr(row, name)))


def asked(row: AllocationRequest) -> list[Line]:
    """Those that are asked for."""
    without = {name.partition("__")[2] for name in row.no_limit} - {""}
    return [line for line in lines(row, sorted(types_of(row) | without)) if line.asked]


def types_of(row: AllocationRequest | Allocation | Share | None) -> set[str]:
    """The GPU types a row has amounts of; none of no row."""
    return {*row.gpus_by_type, *row.gpu_minutes_by_type} if row else set()


def _line(row: AllocationRequest, field: str, name: str, wanted: Any, now: Any, kind: str = "") -> Line:
    said, full = words.amount(field, now) if row.allocation else "", f"{field}__{kind}" if kind else field
    is_asked = wanted is not None or full in row.no_limit
    return Line(full, name, said, words.amount(field, wanted) if is_asked else "")


def _day(day: Any) -> str:
    return date_format(day, "SHORT_DATE_FORMAT") if day else ""
