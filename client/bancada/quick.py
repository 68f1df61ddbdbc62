"""The common record, quickly: ordinary lines are read, hashed and linked in a few steps, by all cores.

An ordinary line is a record with its event just as the portal writes it. Whatever is not quite so is left to the slow
way in evidence.py, which says what is wrong with it. What one process finds to follow from line to line comes back as
one stretch, whose beginning is still to be tied to what came before.
"""

from __future__ import annotations

import hashlib
import os
import re
from array import array
from binascii import unhexlify
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

FIELDS = (
    "id", "uid", "at", "action", "outcome", "actor_id", "actor_ref", "ran_as_ref", "subject_type", "subject_id",
    "subject_ref", "subject_text", "project_id", "project_code", "channel", "address_ref", "correlation", "db_role",
    "detail",
)  # fmt: skip
NULL = b"\xff" * 8
EVENT = b"bancada:event:1\n"
REMOVED = "trail.bodies_removed"
BLOCK = 1 << 21  # bytes of lines one process takes at a time
NULLABLE = {"actor_id", "actor_ref", "ran_as_ref", "subject_ref", "project_id", "address_ref"}
_PLAIN = rb'[^"\\\x00-\x1f]*+'  # as it stands, without an escape
_QUOTED = _PLAIN + rb'(?:\\"' + _PLAIN + b")*+"


def _pattern(name: str) -> bytes:
    """A field with its value. What the portal never leaves out is ordinary only where it is there."""
    value = {"id": b"-?[0-9]{1,18}+", "detail": _QUOTED}.get(name, _PLAIN)
    return (rb'"%b":(?:"(%b)"|null)' if name in NULLABLE else rb'"%b":"(%b)"') % (name.encode(), value)


_LINE = re.compile(
    rb'\{"seq":([1-9][0-9]{0,17}+),"chain":"([0-9a-f]{64}+)","event":\{' + b",".join(map(_pattern, FIELDS)) + rb"\}\}\n"
)
_LENGTH = [length.to_bytes(8, "big") for length in range(4096)]
_ACTION = FIELDS.index("action")
_REMOVED = REMOVED.encode()


class Stretch(NamedTuple):
    """Records that follow from each other. `digest` is the first one's; `chains`: 32 bytes each, as the lines say."""

    first: int
    digest: bytes
    chains: bytes
    events: array[int]  # their numbers

    @property
    def last(self) -> int:
        """The last record in it."""
        return self.first + len(self.events) - 1


def quick(line: str) -> Stretch | None:
    """One record with its event. None: not an ordinary one."""
    found = _LINE.fullmatch(line.encode(errors="surrogatepass"))
    return _stretch([one]) if found and (one := _record(found)) else None


_Record = tuple[int, bytes, bytes, int]  # record, chain as the line says it, digest, number of the event


def _record(found: re.Match[bytes]) -> _Record | None:
    seq, chain, *values = found.groups()
    if values[_ACTION] == _REMOVED:
        return None
    values[-1] = values[-1].replace(b'\\"', b'"')
    try:
        sized = [NULL if value is None else _LENGTH[len(value)] + value for value in values]
    except IndexError:
        return None
    return int(seq), unhexlify(chain), hashlib.sha256(EVENT + b"".join(sized)).digest(), int(values[0])


def _stretch(records: list[_Record]) -> Stretch:
    seqs, chains, digests, events = zip(*records, strict=True)
    return Stretch(seqs[0], digests[0], b"".join(chains), array("q", events))


def read(block: bytes) -> list[Stretch | str]:
    """A block of lines as stretches, and the lines that are in none."""
    out, run, at, ends = list[Stretch | str](), list[_Record](), 0, 0
    match, end, sha = _LINE.match, len(block), hashlib.sha256
    expected, chain = 0, b""
    while at < end:
        found = match(block, at)
        record = _record(found) if found else None
        if run and (record is None or record[0] != expected
                    or record[1] != sha(chain + expected.to_bytes(8, "big") + record[2]).digest()):  # fmt: skip
            out.append(_stretch(run))
            run = []
        if record is None:
            ends = block.find(b"\n", at) + 1 or end
            out.append(block[at:ends].decode())
            at = ends
            continue
        run.append(record)
        expected, chain, at = record[0] + 1, record[1], found.end()  # type: ignore[union-attr]
    return [*out, _stretch(run)] if run else out


def items(file: Any, processes: int | None = None) -> Iterator[Stretch | str]:
    """A binary stream in order, read by several processes; memory stays flat whatever its size."""
    return _spread(read, _blocks(file), processes)


def items_of(path: Path, processes: int | None = None) -> Iterator[Stretch | str]:
    """The same of a file, of which each process reads its own parts."""
    if path.is_file():
        yield from _spread(partial(_part, path), range(0, path.stat().st_size, BLOCK), processes)
    else:
        with path.open("rb") as stream:
            yield from items(stream, processes)


Piece = TypeVar("Piece")


def _spread(
    act: Callable[[Piece], list[Stretch | str]], pieces: Iterable[Piece], processes: int | None
) -> Iterator[Stretch | str]:
    """Piece by piece, some of them ahead."""
    count = processes or min(8, os.cpu_count() or 1)
    if count == 1:
        for piece in pieces:
            yield from act(piece)
        return
    with ProcessPoolExecutor(count) as pool:
        waiting: list[Future[list[Stretch | str]]] = []
        for piece in pieces:
            waiting.append(pool.submit(act, piece))
            if len(waiting) > 2 * count:
                yield from waiting.pop(0).result()
        for future in waiting:
            yield from future.result()


def _blocks(stream: Any) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time."""
    while block := stream.read(BLOCK):
        yield block + stream.readline()


def _part(path: Path, begin: int) -> list[Stretch | str]:
    """The lines that begin in the block at this place of a file."""
    with path.open("rb") as file:
        if begin:
            file.seek(begin - 1)
            file.readline()  # it begins in a block before
        lines = file.read(max(0, begin + BLOCK - file.tell()))
        return read(lines if lines.endswith(b"\n") else lines + file.readline()) if lines else []


class Seen:
    """Numbers met before, a bit each."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}

    def again(self, number: int) -> bool:
        """Whether it was met; from now on it was."""
        return self.first_again((number,)) is not None

    def first_again(self, numbers: Iterable[int]) -> int | None:
        """The place of the first that was met before; from now on all before it were."""
        pages, known, page = self._pages, None, bytearray()
        for at, number in enumerate(numbers):
            if number >> 15 != known:
                known = number >> 15
                if known not in pages:
                    pages[known] = bytearray(4096)
                page = pages[known]
            place, bit = (number & 0x7FFF) >> 3, 1 << (number & 7)
            if page[place] & bit:
                return at
            page[place] |= bit
        return None
