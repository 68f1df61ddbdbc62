"""SHA-256 of what passes, computed beside while the next bytes are under way."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor


class Digest:
    """Pieces in their order; one of them is held while it is computed, so memory stays flat."""

    def __init__(self) -> None:
        self._whole, self._beside = hashlib.sha256(), ThreadPoolExecutor(1)
        self._under_way: Future[None] | None = None

    def update(self, piece: bytes) -> None:
        """Take the next piece, as soon as the one before is done."""
        if self._under_way:
            self._under_way.result()
        self._under_way = self._beside.submit(self._whole.update, piece)

    def hexdigest(self) -> str:
        """Of all of them; no piece comes after it."""
        self._beside.shutdown()
        return self._whole.hexdigest()
