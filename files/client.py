"""How the portal asks the files' door: one connection with one ticket, and one method for each thing to be done."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from files import pouring
from files.answers import ANSWERS, Refused
from files.found import Census, Checked, Entry, Found, Listing, Room, Share
from files.limits import Limit
from files.wire import ANSWER, DATA, END, MOST, PIECE, QUESTION, REFUSAL, TICKET, BadPacket, Channel, Gone, pack, unpack

__all__ = ["Census", "Checked", "Door", "DoorDown", "Entry", "Found", "Limit", "Listing", "Refused", "Room", "Share"]

TIMEOUT = 20.0  # seconds of silence after which the file system (or the door) is given up


class DoorDown(Exception):
    """The files' door, or the file system behind it, gives no answer. Nothing is known; try again."""


class Door:
    """A context manager: `with Door(socket, ticket) as door`. Every method may raise Refused and DoorDown.

    One process of the system stands behind each, so it is held no longer than one request takes.
    """

    def __init__(self, path: Path | str, ticket: str, *, timeout: float = TIMEOUT) -> None:
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._pipes: list[io.FileIO] = []
        try:
            self._connection.settimeout(timeout)
            self._connection.connect(str(path))
            self._channel = Channel(self._connection, patience=timeout)
            self._channel.send(TICKET, ticket.encode())
            self._answer()
        except (OSError, Gone) as error:
            self._connection.close()
            raise DoorDown(f"no answer from the files' door at {path}: {error}") from error
        except Exception:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._connection.close()
        while self._pipes:
            self._pipes.pop().close()

    def folder(self, path: str, *, offset: int = 0, limit: int = 500, order: str = "name") -> Listing:
        """A folder's entries in order (name, size, time; "-" before it turns it round), 10,000 at most at once."""
        head = self._ask("list", path=path, offset=offset, limit=limit, order=order)
        return Listing(self._rows(), int(head["total"]), bool(head["cut"]), bool(head["may_write"]))

    def stat(self, path: str) -> Entry:
        """One entry, a link as the link."""
        return Entry(*self._ask("stat", path=path)["entry"])

    def read(self, path: str, *, offset: int = 0, limit: int = MOST) -> tuple[Entry, Iterator[bytes]]:
        """(the file, its bytes piece by piece). A file that becomes another under way ends with Refused("changed")."""
        self._question("read", path=path, offset=offset, limit=limit)
        head, pipe = self._answer_and_pipe()
        return Entry(*head["entry"]), self._poured(pipe)

    def tar(self, path: str) -> Iterator[bytes]:
        """A folder and all beneath it, in the tar format."""
        self._ask("tar", path=path)
        return self._bytes()

    def walk(
        self, path: str, *, since: int = 0, until: int = MOST, uid: int = 0, endings: str = "", limit: int = 200
    ) -> Found:
        """The newest files beneath a folder (their names are paths beneath the root), changed within two times (epoch
        seconds), of one uid or (0) of anybody, with one of some endings of their names."""
        head = self._ask("walk", path=path, since=since, until=until, uid=uid, endings=endings, limit=limit)
        return Found(self._rows(), int(head["count"]), int(head["bytes"]), bool(head["cut"]))

    def room(self, path: str = "") -> Room:
        """Room on the file system."""
        return self.bounds(path)[0]

    def bounds(self, path: str = "") -> tuple[Room, list[Limit]]:
        """Room on the file system, and what it allows the person and the folder's group."""
        head = self._ask("space", path=path)
        room = Room(int(head["free"]), int(head["total"]), int(head["files"]))
        return room, [Limit(*one) for one in head["limits"]]

    def census(self, path: str = "", *, since: int) -> Census:
        """Whose is how much beneath a folder, and how much of it changed since then (epoch seconds)."""
        head = self._ask("census", path=path, since=since)
        shares = [Share(*one) for one in head["shares"]]
        limits = [Limit(*one) for one in head["limits"]]
        return Census(shares, bool(head["cut"]), limits, Room(*head["room"]))

    def make(self, path: str, *, parents: bool = False) -> int:
        """Make a folder; gives how many were made."""
        return int(self._ask("make", path=path, parents=parents)["made"])

    def rename(self, path: str, to: str) -> Entry:
        """Give another name or place beneath the root; never over something."""
        return Entry(*self._ask("rename", path=path, to=to)["entry"])

    def delete(self, path: str, *, whole: bool = False) -> dict[str, Any]:
        """Remove; gives kind, size and uid of what it was. `whole`: a folder with all in it."""
        return self._ask_long("delete", path=path, whole=whole)

    def unpack(self, path: str, to: str) -> dict[str, Any]:
        """Unpack a zip into a new folder: its `entry`, how many `files`, `folders` and `bytes`; the zip's `size` and
        SHA-256 (`digest`)."""
        told = self._ask_long("unpack", path=path, to=to)
        return told | {"entry": Entry(*told["entry"])}

    def begin(self, path: str, upload: str, size: int, *, overwrite: bool = False) -> int:
        """Let an upload (32 hex digits name it) in; gives the offset it stands at."""
        return int(self._ask("begin", path=path, id=upload, size=size, overwrite=overwrite)["offset"])

    def piece(self, path: str, upload: str, offset: int, size: int, data: Iterable[bytes], *, digest: str = "") -> int:
        """Send the next `size` bytes; gives the offset after them."""
        self._question("piece", path=path, id=upload, offset=offset, size=size, digest=digest)
        try:
            for chunk in data:
                whole = memoryview(chunk)
                for at in range(0, len(whole), PIECE):
                    self._channel.send(DATA, whole[at : at + PIECE])
            self._channel.send(END)
        except Gone as error:
            raise DoorDown(str(error)) from error
        return int(self._answer()["offset"])

    def check(
        self, path: str, upload: str, size: int, *, digest: str = "", overwrite: bool = False
    ) -> Generator[int, None, Checked]:
        """Let all bytes of an upload be read; tells how many were, time and again, and gives what they are."""
        self._question("check", path=path, id=upload, size=size, digest=digest, overwrite=overwrite)
        for word, told in self._told():
            if word == DATA:
                yield int(told["checked"])
        return Checked(str(told["digest"]), str(told["stamp"]))

    def finish(self, path: str, upload: str, stamp: str, *, overwrite: bool = False) -> tuple[Entry, bool | None]:
        """Give a checked upload its name: (entry, whether a file was replaced; None where it had its name already)."""
        head = self._ask("finish", path=path, id=upload, stamp=stamp, overwrite=overwrite)
        return Entry(*head["entry"]), head["replaced"]

    def abandon(self, path: str, upload: str) -> None:
        """Take an unfinished upload away."""
        self._ask("abandon", path=path, id=upload)

    def _question(self, operation: str, **fields: Any) -> None:
        try:
            self._channel.send(QUESTION, pack({"op": operation, **fields}))
        except Gone as error:
            raise DoorDown(str(error)) from error

    def _ask(self, operation: str, **fields: Any) -> dict[str, Any]:
        self._question(operation, **fields)
        return self._answer()

    def _ask_long(self, operation: str, **fields: Any) -> dict[str, Any]:
        """The answer to what takes long: signs of life come before it."""
        self._question(operation, **fields)
        *_, (_, told) = self._told()
        return told

    def _told(self) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """Signs of life (DATA), and at last the answer (ANSWER)."""
        word = DATA
        while word == DATA:
            word, body = self._next()
            if word not in (DATA, ANSWER):
                raise DoorDown("the door answered out of turn")
            yield word, unpack(bytes(body))

    def _next(self) -> tuple[bytes, memoryview]:
        try:
            word, body = self._channel.receive()
        except (Gone, BadPacket) as error:
            raise DoorDown(str(error)) from error
        _check(word, body)
        return word, body

    def _answer(self) -> dict[str, Any]:
        word, body = self._next()
        if word != ANSWER:
            raise DoorDown("the door answered out of turn")
        return unpack(bytes(body))

    def _answer_and_pipe(self) -> tuple[dict[str, Any], io.FileIO]:
        """The pipe stays open until the connection is closed."""
        try:
            word, body, descriptors = self._channel.receive_with()
            if word == REFUSAL and not descriptors:
                _check(word, body)
            pipe = pouring.check(descriptors)
        except (Gone, BadPacket) as error:
            raise DoorDown(str(error)) from error
        if word != ANSWER:
            pipe.close()
            raise DoorDown("the door answered out of turn")
        self._pipes.append(pipe)
        return unpack(bytes(body)), pipe

    def _rows(self) -> list[Entry]:
        rows: list[Entry] = []
        while True:
            word, body = self._next()
            if word == END:
                return rows
            rows += [Entry(*one) for one in json.loads(bytes(body))]

    def _bytes(self) -> Iterator[bytes]:
        while True:
            word, body = self._next()
            if word == END:
                return
            yield bytes(body)

    def _poured(self, pipe: io.FileIO) -> Iterator[bytes]:
        try:
            yield from pouring.take(pipe, self._channel.patience)
            self._channel.send(END)
        except Gone as error:
            raise DoorDown(str(error)) from error
        word, body = self._next()
        end = unpack(bytes(body))
        if word != END or not end["whole"] or not end["same"]:
            raise Refused("changed")


def _check(word: bytes, body: memoryview) -> None:
    """Raises Refused where the packet is a refusal."""
    if word == REFUSAL:
        facts = unpack(bytes(body))
        answer = facts.pop("answer", "")
        raise Refused(answer if answer in ANSWERS else "failed", **facts)
