"""The driver: opened once, its handles kept, Xid events taken as they come."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import pynvml as nvml

from gpu.card import Card, text


@dataclasses.dataclass(slots=True)
class Driver:
    """An open driver: its release and its cards, in the order of their index."""

    version: str
    cards: list[Card]
    xids: Counter[tuple[int, int]]  # (index, xid) -> how often
    events: Any = None

    @property
    def simulated(self) -> bool:
        """Whether it says of itself that it is a stand-in."""
        return "simulated" in self.version


def open_driver() -> Driver:
    """Raises nvml.NVMLError where there is no driver, or none that answers."""
    nvml.nvmlInit()
    version = text(nvml.nvmlSystemGetDriverVersion())
    cards = [open_card(index) for index in range(nvml.nvmlDeviceGetCount())]
    return Driver(version, cards, Counter(), _listen(cards))


def open_card(index: int) -> Card:
    """A card by its index; one that cannot be opened is there as lost."""
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        uuid, model = text(nvml.nvmlDeviceGetUUID(handle)), text(nvml.nvmlDeviceGetName(handle))
    except nvml.NVMLError:
        return Card(index, None, f"index-{index}", "")
    return Card(index, handle, uuid, model)


def _listen(cards: list[Card]) -> Any:
    """Ask for Xid events of all cards; None where the driver offers none."""
    try:
        events = nvml.nvmlEventSetCreate()
        for card in cards:
            if card.handle is not None:
                nvml.nvmlDeviceRegisterEvents(card.handle, nvml.nvmlEventTypeXidCriticalError, events)
    except nvml.NVMLError:
        return None
    return events


def take_events(driver: Driver, most: int = 64) -> None:
    """Count the Xid errors that came since the last time, without waiting for more."""
    if driver.events is None:
        return
    for _ in range(most):
        try:
            event = nvml.nvmlEventSetWait_v2(driver.events, 0)
        except nvml.NVMLError:
            return
        index = _index(event.device)
        if index is not None:
            driver.xids[index, int(event.eventData)] += 1


def _index(device: Any) -> int | None:
    try:
        return int(nvml.nvmlDeviceGetIndex(device))
    except nvml.NVMLError:
        return None
