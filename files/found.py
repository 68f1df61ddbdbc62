"""What the door tells of files: an entry, a list, what a walk found, whose is how much, the room there is."""

from __future__ import annotations

import dataclasses

from files.limits import Limit
from files.names import shown


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One entry. kind: d folder, f file, l link, o other; sizes in bytes, mtime in epoch seconds."""

    name: str
    kind: str
    size: int
    mtime: int
    uid: int
    mode: int
    links: int

    @property
    def is_folder(self) -> bool:
        """Whether it can be gone into."""
        return self.kind == "d"

    @property
    def is_file(self) -> bool:
        """Whether there are bytes to read."""
        return self.kind == "f"

    @property
    def shown(self) -> str:
        """Its name with what cannot be seen written out."""
        return shown(self.name)


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """Some of a folder's entries; `total` of them there are, and more where it is `cut`."""

    entries: list[Entry]
    total: int
    cut: bool
    may_write: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What a walk found: the newest, and how many there are with how many bytes; `cut`: at least so many."""

    entries: list[Entry]
    count: int
    bytes: int
    cut: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    """All bytes of an upload, read: their SHA-256, and the stamp by which the door knows them again."""

    digest: str
    stamp: str


@dataclasses.dataclass(frozen=True, slots=True)
class Room:
    """Bytes free and in all on the file system, and files that may still be made."""

    free: int
    total: int
    files: int


@dataclasses.dataclass(frozen=True, slots=True)
class Share:
    """What one uid has beneath a folder: files, bytes, and the bytes of what changed since the time asked for."""

    uid: int
    files: int
    bytes: int
    new: int


@dataclasses.dataclass(frozen=True, slots=True)
class Census:
    """What lies beneath a folder by whose it is; `cut`: at least so much; `limits`: what the file system allows."""

    shares: list[Share]
    cut: bool
    limits: list[Limit]
    room: Room
