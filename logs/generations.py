"""Which writing of a file one is looking at: a requeue keeps name, inode and often the size, but not the bytes."""

from __future__ import annotations

import dataclasses
import hashlib

HEAD = 4096  # bytes of the file's beginning that are remembered and compared
ANCHOR = 64  # bytes before the last known end, compared again before more is believed
_STEPS = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)


@dataclasses.dataclass(frozen=True, slots=True)
class Sight:
    """One look at a descriptor. `data` was read before the rest, so a rewrite shows beside the bytes it spoils."""

    at: float  # time.monotonic() of the look
    offset: int  # of data in the file
    data: bytes
    size: int
    mtime: float  # epoch seconds
    links: int  # 0: no name leads to this file any more
    head: bytes  # first HEAD bytes
    anchor_at: int  # where the generation's anchor lay when the look was asked for
    anchor: bytes  # what lies there now
    end: bytes  # last ANCHOR bytes before size


class Writing:
    """What is known of one writing of one file, and its name.

    The name is "<restart count>.<rewrites seen>.<chain>", the chain being a short hash of the inode and of the head at
    each of a row of lengths. It grows while the head grows; two names mean the same writing when one begins with the
    other (see `same`), whoever gave them and whenever, so a reader that starts anew needs no memory.
    """

    def __init__(self, *, restart_count: int, inode: int, rewrites: int = 0) -> None:
        self.restart_count, self.inode = restart_count, inode
        self.rewrites = rewrites
        self.size = 0
        self._seen = -1.0
        self._head = b""
        self._anchor = (0, b"")

    def succeeded_by(self, inode: int) -> Writing:
        """What is known when the path is opened again. Inodes are used again: the same one must still prove itself."""
        if inode == self.inode:
            return self
        return Writing(restart_count=self.restart_count, inode=inode, rewrites=self.rewrites + 1)

    @property
    def anchor_at(self) -> int:
        """Offset of the bytes the next look must read again (ANCHOR at most)."""
        return self._anchor[0]

    def accept(self, sight: Sight) -> bool:
        """Take in a look; False where the file was rewritten since, so that the look's data counts for nothing.

        Looks may come in out of order (threads); one older than the last taken in teaches nothing.
        """
        if sight.at < self._seen:
            return True
        fits = self._fits(sight)
        if not fits:
            self.rewrites += 1
        self._seen, self.size, self._head = sight.at, sight.size, sight.head
        self._anchor = (max(0, sight.size - ANCHOR), sight.end)
        return fits

    def name(self) -> str:
        """The name as far as the head reaches by now."""
        chain = [_short(str(self.inode).encode())]
        chain += [_short(self._head[:step]) for step in _STEPS if step <= len(self._head)]
        return f"{self.restart_count}.{self.rewrites}.{''.join(chain)}"

    def _fits(self, sight: Sight) -> bool:
        at, known = self._anchor
        return (
            sight.size >= self.size
            and sight.head[: len(self._head)] == self._head
            and (sight.anchor_at != at or sight.anchor[: len(known)] == known)
        )


def same(one: str, other: str) -> bool:
    """Whether two names mean the same writing of a file; "" (nothing known) fits any."""
    return one.startswith(other) or other.startswith(one)


def _short(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=2).hexdigest()
