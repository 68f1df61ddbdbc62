"""All GPUs of the site as they are now: one question to Prometheus, of our agents' names."""

from __future__ import annotations

import dataclasses
from typing import Any

from cluster.metrics import names
from cluster.metrics.charts import dialect, is_told
from cluster.metrics.prometheus import Prometheus, Sample, need

WINDOW = 60  # seconds that a reading stays the present
REASONS = ("power", "thermal", "hardware")
OF_CARDS = (
    "bancada_gpu_(info|state|memory_used_bytes|memory_total_bytes|power_watts|power_limit_watts|mig_enabled"
    "|allocated|outside_memory_bytes|throttled|row_remap_failed|temperature_celsius)"
)
FAULTS = (
    'increase(bancada_gpu_ecc_errors_total{kind="uncorrected"}[1h]) > 0'
    " or increase(bancada_gpu_xid_errors_total[1h]) > 0 or bancada_gpu_xid_errors_total unless"
    " bancada_gpu_xid_errors_total offset 1h"
)
# dcgm-exporter keeps the last Xid for ever: a fault is one that came within the hour
DCGM_SLICES = 'group by (node, gpu) (DCGM_FI_DEV_FB_USED{GPU_I_ID!=""})'
_XID = "max by (node, gpu) (DCGM_FI_DEV_XID_ERRORS)"
DCGM_XIDS = f"{_XID} > 0 unless {_XID} == max by (node, gpu) (DCGM_FI_DEV_XID_ERRORS offset 1h)"
DCGM_REMAPS = "max by (node, gpu) (DCGM_FI_DEV_ROW_REMAP_FAILURE) > 0"


@dataclasses.dataclass(slots=True)
class Seen:
    """One card as it is now; % and MiB and W."""

    node: str
    index: int
    model: str = ""
    state: str = "ok"
    values: dict[str, float] = dataclasses.field(default_factory=dict)
    throttled: list[str] = dataclasses.field(default_factory=list)
    faults: list[str] = dataclasses.field(default_factory=list)
    mig: bool = False
    jobs: list[int] = dataclasses.field(default_factory=list)
    strangers: list[dict[str, Any]] = dataclasses.field(default_factory=list)


def look(source: Prometheus | None = None) -> list[Seen]:
    """Every card Prometheus has heard of in the last minute. Raises Away."""
    source = source or need()
    if dialect() is not names.OURS:
        return _by_readings(source)
    cards: dict[tuple[str, int], Seen] = {}
    for row in source.now(f'{{__name__=~"{OF_CARDS}"}}'):
        if card := _card(cards, row):
            _note(card, row)
    for row in source.now(f"max by (node, gpu) (max_over_time(bancada_gpu_utilization_ratio[{WINDOW // 3}s]))"):
        if card := _card(cards, row):
            card.values["utilization"] = row.value * 100
    for row in source.now(FAULTS):
        if card := _card(cards, row):
            card.faults.append(f"xid {row.labels['xid']}" if "xid" in row.labels else "ecc")
    return list(cards.values())


def _card(cards: dict[tuple[str, int], Seen], row: Sample) -> Seen | None:
    node, gpu = row.labels.get("node", ""), row.labels.get("gpu", "")
    if not node or not names.is_number(gpu) or len(gpu) > 3:
        return None
    key = (node[:80], int(gpu))
    if key not in cards:
        cards[key] = Seen(*key)
    return cards[key]


_VALUES = {
    "memory_used_bytes": ("memory", names.MIB),
    "memory_total_bytes": ("memory_total", names.MIB),
    "power_watts": ("power", 1.0),
    "power_limit_watts": ("power_limit", 1.0),
}


def _note(card: Seen, row: Sample) -> None:
    name, labels = row.labels["__name__"].removeprefix("bancada_gpu_"), row.labels
    if name in _VALUES:
        known, factor = _VALUES[name]
        if is_told(row.value):
            card.values[known] = row.value * factor
    elif name == "info":
        card.model = labels.get("model", "")[:96]
    elif name == "state":
        card.state = labels.get("state", "error")[:10]
    elif name == "temperature_celsius" and labels.get("sensor") == "core":
        card.values["temperature"] = row.value
    elif name == "throttled" and row.value and labels.get("reason") in REASONS:
        card.throttled.append(labels["reason"])
    elif name == "row_remap_failed" and row.value:
        card.faults.append("remap")
    elif name == "mig_enabled":
        card.mig = bool(row.value)
    elif name == "allocated" and names.is_number(labels.get("slurm_job", "")):
        card.jobs.append(int(labels["slurm_job"][:18]))
    elif name == "outside_memory_bytes":
        card.strangers.append(_stranger(row))


def _stranger(row: Sample) -> dict[str, Any]:
    uid, pid = row.labels.get("uid", ""), row.labels.get("pid", "")
    return {
        "pid": int(pid[:10]) if names.is_number(pid) else None,
        "uid": int(uid[:10]) if names.is_number(uid) else None,
        "mib": round(row.value * names.MIB),
    }


def _by_readings(source: Prometheus) -> list[Seen]:
    """Of another exporter, which says less: readings, and the job of each card where it knows it."""
    words, cards = dialect(), dict[tuple[str, int], Seen]()
    for row in source.now(f"group by (node, gpu, modelName, {words.job}) ({words.allotted})"):
        if card := _card(cards, row):
            card.model = row.labels.get("modelName", "")[:96]
            if names.is_number(number := row.labels.get(words.job, "")):
                card.jobs.append(int(number))
    for name, reading in words.readings.items():
        for row in source.now(names.now(words, name)):
            if (card := _card(cards, row)) and is_told(row.value):
                card.values[name] = row.value * reading.factor
    for row in source.now(DCGM_SLICES):
        if card := _card(cards, row):
            card.mig = True
    for question, fault in ((DCGM_XIDS, "xid {:.0f}"), (DCGM_REMAPS, "remap")):
        for row in source.now(question):
            if card := _card(cards, row):
                card.faults.append(fault.format(row.value))
    return list(cards.values())
