"""One pass over one card: as few calls as NVML allows, each reading absent where the card has none."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pynvml as nvml

ALL_LINKS = 0xFFFFFFFF  # the scope of an NVLink field that counts all links together
F = nvml
FIELDS: dict[str, Any] = {
    "power": F.NVML_FI_DEV_POWER_INSTANT,
    "memory_temperature": F.NVML_FI_DEV_MEMORY_TEMP,
    "energy": F.NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION,
    "ecc_corrected": F.NVML_FI_DEV_ECC_SBE_VOL_TOTAL,
    "ecc_uncorrected": F.NVML_FI_DEV_ECC_DBE_VOL_TOTAL,
    "remap_pending": F.NVML_FI_DEV_REMAPPED_PENDING,
    "remap_failed": F.NVML_FI_DEV_REMAPPED_FAILURE,
    "pcie_sent": F.NVML_FI_DEV_PCIE_COUNT_TX_BYTES,
    "pcie_received": F.NVML_FI_DEV_PCIE_COUNT_RX_BYTES,
    "nvlink_sent": (F.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, ALL_LINKS),
    "nvlink_received": (F.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, ALL_LINKS),
}
_VALUES = {
    F.NVML_VALUE_TYPE_DOUBLE: "dVal",
    F.NVML_VALUE_TYPE_UNSIGNED_INT: "uiVal",
    F.NVML_VALUE_TYPE_UNSIGNED_LONG: "ulVal",
    F.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: "ullVal",
    F.NVML_VALUE_TYPE_SIGNED_LONG_LONG: "sllVal",
    F.NVML_VALUE_TYPE_SIGNED_INT: "siVal",
}
# reason -> the bits of NVML that mean it; idle and application clocks hold nobody down
REASONS = {
    "power": F.nvmlClocksThrottleReasonSwPowerCap,
    "thermal": F.nvmlClocksThrottleReasonSwThermalSlowdown | F.nvmlClocksThrottleReasonHwThermalSlowdown,
    "hardware": F.nvmlClocksThrottleReasonHwSlowdown | F.nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
    "other": F.nvmlClocksThrottleReasonSyncBoost | F.nvmlClocksThrottleReasonDisplayClockSetting,
}
SELDOM = 10  # passes between looks at what hardly ever changes
LOST = (F.NVML_ERROR_GPU_IS_LOST, F.NVML_ERROR_RESET_REQUIRED)


def text(value: Any) -> str:
    """NVML's strings, bytes or not."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


@dataclasses.dataclass(slots=True)
class Card:
    """One GPU and what is remembered of it between passes."""

    index: int
    handle: Any
    uuid: str
    model: str
    passes: int = 0
    power_limit: float | None = None
    mig: bool = False
    slices: list[Slice] = dataclasses.field(default_factory=list)
    counters: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)  # name -> (clock, value)


@dataclasses.dataclass(slots=True)
class Slice:
    """One MIG device: the number of its GPU instance names it."""

    handle: Any
    instance: int
    uuid: str


@dataclasses.dataclass(slots=True)
class Process:
    """A process on a card; `instance` is its MIG slice."""

    pid: int
    memory: int
    instance: int | None = None


@dataclasses.dataclass(slots=True)
class Sample:
    """What one pass saw: `values` by name in SI units, None or missing where the card has no such reading."""

    values: dict[str, float | None]
    processes: list[Process]
    reasons: int | None = None
    slices: list[tuple[Slice, float, float]] = dataclasses.field(default_factory=list)  # used, total bytes


def read(card: Card, slow: bool = False) -> Sample:
    """One pass. `slow`: also what takes the driver 40 ms. Raises NVMLError where the card is lost."""
    if card.handle is None:
        raise nvml.NVMLError(nvml.NVML_ERROR_GPU_IS_LOST)
    if card.passes % SELDOM == 0:
        _seldom(card)
    card.passes += 1
    memory = nvml.nvmlDeviceGetMemoryInfo(card.handle)  # every card has it: what it raises is the card's state
    values: dict[str, float | None] = {"used": memory.used, "total": memory.total, "power_limit": card.power_limit}
    _batch(card, values)
    _single(card, values)
    if slow and values.get("pcie_sent") is None:
        _slow(card, values)
    reasons = _try(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(card.handle))
    return Sample(values, _processes(card), reasons, [_slice(one) for one in card.slices])


def _try(call: Callable[[], Any]) -> Any:
    """Its answer; None where this card does not have it. A card that is lost is not merely without."""
    try:
        return call()
    except nvml.NVMLError as why:
        if why.value in LOST:
            raise
        return None


def _seldom(card: Card) -> None:
    limit = _try(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(card.handle))
    card.power_limit = None if limit is None else limit / 1000
    mode = _try(lambda: nvml.nvmlDeviceGetMigMode(card.handle))
    card.mig = bool(mode and mode[0])
    card.slices = _slices(card) if card.mig else []


def _slices(card: Card) -> list[Slice]:
    found = []
    for number in range(_try(lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(card.handle)) or 0):
        with contextlib.suppress(nvml.NVMLError):
            handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(card.handle, number)
            instance = nvml.nvmlDeviceGetGpuInstanceId(handle)
            found.append(Slice(handle, instance, text(nvml.nvmlDeviceGetUUID(handle))))
    return found


def _slice(one: Slice) -> tuple[Slice, float, float]:
    memory = nvml.nvmlDeviceGetMemoryInfo(one.handle)
    return one, memory.used, memory.total


def _batch(card: Card, values: dict[str, float | None]) -> None:
    """All field values in one call."""
    answered = _try(lambda: nvml.nvmlDeviceGetFieldValues(card.handle, list(FIELDS.values()))) or ()
    raw = dict(zip(FIELDS, map(_field, answered), strict=False))
    for name in ("ecc_corrected", "ecc_uncorrected", "remap_pending", "remap_failed", "memory_temperature"):
        values[name] = raw.get(name)
    for name in ("power", "energy"):
        values[name] = _scaled(raw.get(name), 1 / 1000)
    for name, factor in (("pcie_sent", 1), ("pcie_received", 1), ("nvlink_sent", 1024), ("nvlink_received", 1024)):
        values[name] = rate(card, name, _scaled(raw.get(name), factor))


def _field(value: Any) -> float | None:
    member = _VALUES.get(value.valueType)
    return float(getattr(value.value, member)) if value.nvmlReturn == nvml.NVML_SUCCESS and member else None


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def rate(card: Card, name: str, value: float | None) -> float | None:
    """Growth a second since the last pass; None at first, and where a counter went back."""
    now = time.monotonic()
    before = card.counters.get(name)
    if value is None:
        return None
    card.counters[name] = (now, value)
    if before is None or value < before[1] or now <= before[0]:
        return None
    return (value - before[1]) / (now - before[0])


def _single(card: Card, values: dict[str, float | None]) -> None:
    handle = card.handle
    if not card.mig:
        use = _try(lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
        values["utilization"] = None if use is None else use.gpu / 100
        values["memory_busy"] = None if use is None else use.memory / 100
    if values.get("power") is None:
        values["power"] = _scaled(_try(lambda: nvml.nvmlDeviceGetPowerUsage(handle)), 1 / 1000)
    values["core_temperature"] = _try(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
    for name, clock in (("sm", nvml.NVML_CLOCK_SM), ("memory", nvml.NVML_CLOCK_MEM)):
        values[f"{name}_clock"] = _scaled(_try(partial(nvml.nvmlDeviceGetClockInfo, handle, clock)), 1e6)


def _slow(card: Card, values: dict[str, float | None]) -> None:
    for name, way in (("sent", nvml.NVML_PCIE_UTIL_TX_BYTES), ("received", nvml.NVML_PCIE_UTIL_RX_BYTES)):
        kilobytes = _try(partial(nvml.nvmlDeviceGetPcieThroughput, card.handle, way))
        values[f"pcie_{name}"] = _scaled(kilobytes, 1000)


def _processes(card: Card) -> list[Process]:
    found = _try(lambda: nvml.nvmlDeviceGetComputeRunningProcesses_v3(card.handle)) or []
    return [Process(p.pid, p.usedGpuMemory or 0, p.gpuInstanceId if card.mig else None) for p in found]
