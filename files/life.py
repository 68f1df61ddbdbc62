"""Signs of life to who waits for something long: that it goes on, and how far it is."""

from __future__ import annotations

import time
from typing import Any

from files.wire import DATA, Channel, pack

BEAT = 0.5  # seconds between two


class Life:
    """The first at once, then one every BEAT seconds at most."""

    def __init__(self, channel: Channel) -> None:
        self._channel, self._next = channel, 0.0

    def sign(self, **facts: Any) -> None:
        """Raises Gone where nobody waits any more."""
        if (now := time.monotonic()) >= self._next:
            self._channel.send(DATA, pack(facts))
            self._next = now + BEAT
