"""What a site's exporters call things, our own or dcgm-exporter. Every value that enters a question is checked."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping

_NODE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}\Z")
_NUMBER = re.compile(r"^[0-9]{1,18}\Z")


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """One reading: its series (with the labels that choose it), and what makes our unit of its own."""

    series: str
    factor: float = 1.0
    labels: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Dialect:
    """The names of one kind of exporter. Units: %, MiB, W, degrees Celsius."""

    node: str  # label with the node's name in Slurm
    job: str  # label with the job's number
    allotted: str  # series that has this label
    readings: Mapping[str, Reading]
    # a reading's least and most of each minute, where Prometheus records them (stack/templates/prometheus-rules.yml)
    minutes: str = ""


MIB = 1 / 2**20
OURS = Dialect(
    "node", "slurm_job", "bancada_gpu_allocated",
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
DCGM = Dialect(
    "Hostname", "hpc_job", "DCGM_FI_DEV_GPU_UTIL",
    {
        "utilization": Reading("DCGM_FI_DEV_GPU_UTIL"),
        "memory": Reading("DCGM_FI_DEV_FB_USED"),
        "power": Reading("DCGM_FI_DEV_POWER_USAGE"),
        "temperature": Reading("DCGM_FI_DEV_GPU_TEMP"),
        "memory_total": Reading("DCGM_FI_DEV_FB_TOTAL"),
        "power_limit": Reading("DCGM_FI_DEV_POWER_MGMT_LIMIT"),
    },
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


def chosen(dialect: Dialect, reading: str, names: Iterable[str], cards: Iterable[str] = (), *, series: str = "") -> str:
    """The series of a reading on these nodes, of these cards (none: all); `series`: its other name."""
    one = dialect.readings[reading]
    labels = [f'{dialect.node}=~"{nodes(names)}"', *([one.labels] if one.labels else [])]
    if cards := sorted(set(cards)):
        labels.append(f'gpu=~"{"|".join(map(number, cards))}"')
    return f"{series or one.series}{{{','.join(labels)}}}"


def allotted(dialect: Dialect, job: int, names: Iterable[str]) -> str:
    """Which cards of these nodes a job has: a node that lies about a job of others is not asked."""
    labels = f'{dialect.job}="{number(job)}",{dialect.node}=~"{nodes(names)}"'
    return f"{dialect.allotted}{{{labels}}}"
