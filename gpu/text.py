"""Readings as Prometheus text, with every label's value escaped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gpu.series import BY_NAME

_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Reading(NamedTuple):
    """One value of one series; `labels` in the order of the series' own labels."""

    name: str
    labels: tuple[str, ...]
    value: float


def write(readings: Iterable[Reading]) -> bytes:
    """The text of these readings, grouped by series. Raises KeyError for a series that is not in the table."""
    groups: dict[str, list[str]] = {}
    for name, labels, value in readings:
        groups.setdefault(name, []).append(_line(name, labels, value))
    lines: list[str] = []
    for name, values in groups.items():
        series = BY_NAME[name]
        lines += [f"# HELP {name} {series.help}", f"# TYPE {name} {series.kind}", *values]
    return ("\n".join(lines) + "\n").encode()


def _line(name: str, labels: tuple[str, ...], value: float) -> str:
    names = BY_NAME[name].labels
    if len(names) != len(labels):
        raise ValueError(f"{name} has the labels {names}")
    inside = ",".join(f'{key}="{text.translate(_ESCAPED)}"' for key, text in zip(names, labels, strict=True))
    return f"{name}{{{inside}}} {value:.10g}" if inside else f"{name} {value:.10g}"
