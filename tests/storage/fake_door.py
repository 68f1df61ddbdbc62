"""The files' door for tests of the doors before it: a folder with one folder and one file in it, whoever asks."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator
from typing import Any

from files.answers import Refused
from files.client import Census, Checked, Entry, Found, Limit, Listing, Room, Share
from files.names import check_new, parts


class FakeDoor:
    """As files.client.Door; what the file holds is the project's code, so that a look into another's is seen."""

    def __init__(self, project: Any, _user: Any, *, write: bool = False, **_haste: Any) -> None:
        self._data, self._write = project.code.encode(), write

    def __enter__(self) -> FakeDoor:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def stat(self, path: str) -> Entry:
        kind = {"": "d", "runs": "d", "f": "f"}.get(self._checked(path))
        if kind is None:
            raise Refused("missing")
        return Entry(path, kind, len(self._data) if kind == "f" else 0, 1_700_000_000, 20001, 0o660, 1)

    def folder(self, path: str, **_: object) -> Listing:
        if self.stat(path).kind == "f":
            raise Refused("not-folder")
        entries = [] if path else [self.stat("runs"), self.stat("f")]
        return Listing(entries, len(entries), cut=False, may_write=True)

    def read(self, path: str, *, offset: int = 0, limit: int = 2**62) -> tuple[Entry, Iterator[bytes]]:
        entry = self.stat(path)
        if entry.kind == "d":
            raise Refused("is-folder")
        return entry, iter([self._data[offset : offset + limit]])

    def tar(self, path: str) -> Iterator[bytes]:
        self.folder(path)
        return iter([bytes(1024)])

    def walk(self, path: str, **_: object) -> Found:
        return Found([] if path else [self.stat("f")], 1, len(self._data), cut=False)

    def room(self, path: str = "") -> Room:
        return Room(10**9, 10**10, 1000)

    def bounds(self, path: str = "") -> tuple[Room, list[Limit]]:
        return self.room(path), []

    def census(self, path: str = "", *, since: int) -> Census:
        return Census([Share(20001, 1, len(self._data), 0)], False, [], self.room(path))

    def make(self, path: str, *, parents: bool = False) -> int:
        self._new(path)
        return 1

    def rename(self, path: str, to: str) -> Entry:
        entry = self.stat(path)
        self._new(to)
        return entry

    def unpack(self, path: str, to: str) -> dict[str, Any]:
        self.stat(path)
        self._new(to)
        told = {"size": 1, "digest": "0" * 64, "files": 1, "folders": 0, "bytes": 1}
        return {"entry": Entry(to, "d", 0, 1_700_000_000, 20001, 0o770, 2), **told}

    def delete(self, path: str, *, whole: bool = False) -> dict[str, Any]:
        entry = self.stat(path)
        if not path:
            raise Refused("denied")
        return {"kind": entry.kind, "size": entry.size, "uid": entry.uid}

    def begin(self, path: str, upload: str, size: int, *, overwrite: bool = False) -> int:
        self._new(path)
        if not re.fullmatch(r"[0-9a-f]{32}", upload):
            raise Refused("bad-request")
        return 0

    def piece(self, path: str, upload: str, offset: int, size: int, data: Iterable[bytes], *, digest: str = "") -> int:
        self._checked(path)
        return offset + sum(map(len, data))

    def check(self, path: str, upload: str, size: int, **_: object) -> Generator[int, None, Checked]:
        self._new(path)
        yield size
        return Checked("0" * 64, "0")

    def finish(self, path: str, upload: str, stamp: str, **_: object) -> tuple[Entry, bool]:
        self._new(path)
        return Entry(path, "f", 1, 1_700_000_000, 20001, 0o660, 1), False

    def abandon(self, path: str, upload: str) -> None:
        self._checked(path)

    def _new(self, path: str) -> None:
        assert self._write
        try:
            check_new(path)
        except ValueError as error:
            raise Refused("bad-name") from error

    @staticmethod
    def _checked(path: str) -> str:
        try:
            parts(path)
        except ValueError as error:
            raise Refused("bad-name") from error
        return path
