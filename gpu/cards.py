"""Readings of the cards: one sample each, with whose their processes are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pynvml as nvml

from gpu.allotted import Allotments
from gpu.card import LOST, REASONS, Card, Sample
from gpu.lanes import Stuck
from gpu.procfs import Proc
from gpu.text import Reading
from gpu.whose import OUTSIDE, UNKNOWN, Whose

# name in the sample -> series, and the value of its last label, if it has one more
PLAIN = {
    "utilization": ("utilization_ratio", ()),
    "memory_busy": ("memory_busy_ratio", ()),
    "used": ("memory_used_bytes", ()),
    "total": ("memory_total_bytes", ()),
    "power": ("power_watts", ()),
    "power_limit": ("power_limit_watts", ()),
    "energy": ("energy_joules_total", ()),
    "sm_clock": ("clock_hertz", ("sm",)),
    "memory_clock": ("clock_hertz", ("memory",)),
    "core_temperature": ("temperature_celsius", ("core",)),
    "memory_temperature": ("temperature_celsius", ("memory",)),
    "pcie_sent": ("pcie_bytes_per_second", ("sent",)),
    "pcie_received": ("pcie_bytes_per_second", ("received",)),
    "nvlink_sent": ("nvlink_bytes_per_second", ("sent",)),
    "nvlink_received": ("nvlink_bytes_per_second", ("received",)),
    "ecc_corrected": ("ecc_errors_total", ("corrected",)),
    "ecc_uncorrected": ("ecc_errors_total", ("uncorrected",)),
    "remap_pending": ("row_remap_pending", ()),
    "remap_failed": ("row_remap_failed", ()),
}


def state_of(result: Sample | Exception) -> str:
    """How a pass over a card ended, in one word."""
    if isinstance(result, Stuck):
        return "hung"
    if isinstance(result, nvml.NVMLError):
        return "lost" if result.value in LOST else "error"
    return "error" if isinstance(result, Exception) else "ok"


def readings(card: Card, result: Sample | Exception, whose: Whose, allotments: Allotments) -> Iterator[Reading]:
    """Of one card; of one that is lost or hangs only that it is, and whose it is."""
    own = (str(card.index), card.uuid)
    yield Reading("bancada_gpu_state", (*own, state_of(result)), 1)
    if card.model:
        yield Reading("bancada_gpu_info", (*own, card.model), 1)
    if isinstance(result, Sample):
        yield from _plain(own, result)
        yield from _held_down(own, result)
        yield Reading("bancada_gpu_mig_enabled", own, float(card.mig))
        for one, used, total in result.slices:
            yield Reading("bancada_gpu_mig_memory_used_bytes", (*own, str(one.instance)), used)
            yield Reading("bancada_gpu_mig_memory_total_bytes", (*own, str(one.instance)), total)
        yield from _processes(own, result, whose)
    names = (str(card.index), card.uuid, *(one.uuid for one in card.slices))
    for job in sorted(allotments.jobs(*names)):
        yield Reading("bancada_gpu_allocated", (*own, job), 1)


def _plain(own: tuple[str, str], sample: Sample) -> Iterator[Reading]:
    for name, (series, more) in PLAIN.items():
        value = sample.values.get(name)
        if value is not None:
            yield Reading(f"bancada_gpu_{series}", (*own, *more), value)


def _held_down(own: tuple[str, str], sample: Sample) -> Iterator[Reading]:
    if sample.reasons is not None:
        for reason, bits in REASONS.items():
            yield Reading("bancada_gpu_throttled", (*own, reason), float(bool(sample.reasons & bits)))


def _processes(own: tuple[str, str], sample: Sample, whose: Whose) -> Iterator[Reading]:
    memory: Counter[str] = Counter()
    unknown = 0
    for process in sample.processes:
        job = whose.job_of(process.pid)
        if job == OUTSIDE:
            labels = (*own, str(process.pid), _uid(whose.proc, process.pid))
            yield Reading("bancada_gpu_outside_memory_bytes", labels, process.memory)
        elif job == UNKNOWN:
            unknown += 1
        else:
            memory[job] += process.memory
    yield Reading("bancada_gpu_processes", own, len(sample.processes))
    yield Reading("bancada_gpu_unknown_processes", own, unknown)
    for job, used in memory.items():
        yield Reading("bancada_gpu_job_memory_bytes", (*own, job), used)


def _uid(proc: Proc, pid: int) -> str:
    uids = proc.uids(pid)
    return str(uids[0]) if uids else ""
