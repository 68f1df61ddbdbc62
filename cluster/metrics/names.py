"""What a site's exporters call things, our own or dcgm-exporter. Every value that enters a question is checked.

Of every exporter the label `node` is the target's own, given by Prometheus: no node can call itself by another's name.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping

_NODE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}\Z")
_NUMBER = re.compile(r"^[0-9]{1,18}\Z")


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """One reading: its series (with the labels that choose it), and what makes our unit of its own.

    `made`: how it is made of series that tell less or more than a card, by (node, gpu), where no one series is it.
    """

    series: str
    factor: float = 1.0
    labels: str = ""
    made: str = ""  # {of} chooses nodes and cards


@dataclasses.dataclass(frozen=True, slots=True)
class Dialect:
    """The names of one kind of exporter. Units: %, MiB, W, degrees Celsius."""

    job: str  # label with the job's number
    allotted: str  # series that has this label
    readings: Mapping[str, Reading]
    # a reading's least and most of each minute, where Prometheus records them (stack/templates/prometheus-rules.yml)
    minutes: str = ""
    finest: int = 1  # seconds between two readings


MIB = 1 / 2**20
LOOKS = 240  # at a reading within a span, where it is made of several series
OURS = Dialect(
    "slurm_job", "bancada_gpu_allocated",
    {
        "utilization": Reading("bancada_gpu_utilization_ratio", 100),
        "memory": Reading("bancada_gpu_memory_used_bytes", MIB),
        "power": Reading("bancada_gpu_power_watts"),
        "temperature": Reading("bancada_gpu_temperature_celsius", labels='sensor="core"'),
        "memory_total": Reading("bancada_gpu_memory_total_bytes", MIB),
        "power_limit": Reading("bancada_gpu_power_limit_watts"),
    },
    "bancada_gpu:{reading}:{way}1m",
)  # fmt: skip


def _whole(series: str) -> str:
    """Of cards with MIG: what it says of the card, else of its slices together. Said again for each job of a card."""
    return (
        f'(max by (node, gpu) ({series}{{{{{{of}},GPU_I_ID=""}}}}) or'
        f' sum by (node, gpu) (max by (node, gpu, GPU_I_ID) ({series}{{{{{{of}},GPU_I_ID!=""}}}})))'
    )


def _card(series: str, more: str = "") -> str:
    """Of the card alone: its slices, and each of its jobs, repeat it."""
    return f"max by (node, gpu) ({series}{{{{{{of}}{more}}}}})"


_USED, _FREE, _KEPT, _ALL = (_whole(f"DCGM_FI_DEV_FB_{word}") for word in ("USED", "FREE", "RESERVED", "TOTAL"))
DCGM = Dialect(
    "hpc_job", "DCGM_FI_DEV_FB_USED",
    {
        # a slice has no utilisation of its own that could be compared with a card's
        "utilization": Reading("DCGM_FI_DEV_GPU_UTIL", made=_card("DCGM_FI_DEV_GPU_UTIL", ',GPU_I_ID=""')),
        "memory": Reading("DCGM_FI_DEV_FB_USED", made=_USED),
        "power": Reading("DCGM_FI_DEV_POWER_USAGE", made=_card("DCGM_FI_DEV_POWER_USAGE")),
        "temperature": Reading("DCGM_FI_DEV_GPU_TEMP", made=_card("DCGM_FI_DEV_GPU_TEMP")),
        # it and the limit of power are not among the counters that the exporter serves unless told to
        "memory_total": Reading(
            "DCGM_FI_DEV_FB_TOTAL", made=f"({_ALL} or ({_USED} + {_FREE} + {_KEPT}) or ({_USED} + {_FREE}))"
        ),
        "power_limit": Reading("DCGM_FI_DEV_POWER_MGMT_LIMIT", made=_card("DCGM_FI_DEV_POWER_MGMT_LIMIT")),
    },
    finest=15,
)  # fmt: skip
DIALECTS = {"bancada": OURS, "dcgm": DCGM}
CHARTED = ("utilization", "memory", "power", "temperature")


def nodes(names: Iterable[str]) -> str:
    """A pattern of exactly these nodes. Raises ValueError for what cannot be a node's name."""
    return "|".join(_checked(_NODE, name).replace(".", "\\\\.") for name in sorted(set(names)))


def number(value: str | int) -> str:
    """A job's or a card's number. Raises ValueError for what is none."""
    return _checked(_NUMBER, str(value))


def is_number(text: str) -> bool:
    """Whether it may be asked for as a number."""
    return bool(_NUMBER.match(text))


def _checked(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.match(text):
        raise ValueError(f"not to be asked for: {text[:40]!r}")
    return text


def now(dialect: Dialect, reading: str) -> str:
    """A reading of every card there is, by (node, gpu)."""
    one = dialect.readings[reading]
    return one.made.format(of='node!=""') if one.made else f"max by (node, gpu) ({one.series}{{{one.labels}}})"


def over(
    dialect: Dialect, reading: str, names: Iterable[str], cards: Iterable[str], way: str, span: int, recorded: str = ""
) -> str:
    """A reading's `way` (min, max, avg) of each card over `span` seconds; `recorded`: of this series instead."""
    one = dialect.readings[reading]
    if one.made and not recorded:
        looks = max(1, min(dialect.finest, span // 4), math.ceil(span / LOOKS))
        return f"{way}_over_time({one.made.format(of=_of(names, cards))}[{span}s:{looks}s])"
    return f"{way}_over_time({chosen(dialect, reading, names, cards, series=recorded)}[{span}s])"


def plain(dialect: Dialect, reading: str, names: Iterable[str], cards: Iterable[str]) -> str:
    """A reading of these cards of these nodes at each moment."""
    one = dialect.readings[reading]
    return one.made.format(of=_of(names, cards)) if one.made else chosen(dialect, reading, names, cards)


def chosen(dialect: Dialect, reading: str, names: Iterable[str], cards: Iterable[str] = (), *, series: str = "") -> str:
    """The series of a reading on these nodes, of these cards (none: all); `series`: its other name."""
    one = dialect.readings[reading]
    more = f",{one.labels}" if one.labels else ""
    return f"{series or one.series}{{{_of(names, cards)}{more}}}"


def _of(names: Iterable[str], cards: Iterable[str]) -> str:
    numbers = f',gpu=~"{"|".join(map(number, sorted(set(cards))))}"' if cards else ""
    return f'node=~"{nodes(names)}"{numbers}'


def allotted(dialect: Dialect, job: int, names: Iterable[str]) -> str:
    """Which cards of these nodes a job has: a node that lies about a job of others is not asked."""
    return f'{dialect.allotted}{{{dialect.job}="{number(job)}",node=~"{nodes(names)}"}}'
