"""The common record, quickly: an ordinary event in an ordinary line is read and hashed in a few steps, by all cores.

Whatever is not quite ordinary is left to the slow way in evidence.py, which says what is wrong with it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from operator import itemgetter
from typing import Any

FIELDS = (
    "id", "uid", "at", "action", "outcome", "actor_id", "actor_ref", "ran_as_ref", "subject_type", "subject_id",
    "subject_ref", "subject_text", "project_id", "project_code", "channel", "address_ref", "correlation", "db_role",
    "detail",
)  # fmt: skip
NULL = b"\xff" * 8
EVENT = b"bancada:event:1\n"
REMOVED = "trail.bodies_removed"
Item = tuple[int, str, bytes, int]  # record, chain as the line says it, digest, number of the event
BLOCK = 1 << 21  # bytes of lines one process takes at a time
_VALUES = itemgetter(*FIELDS)
_LENGTH = [length.to_bytes(8, "big") for length in range(4096)]
_QUOTES = 2 * (3 + 1 + 2 * len(FIELDS))  # of three names, the chain, and each field's name and value
_decode = json.JSONDecoder().raw_decode


def quick(line: str) -> Item | None:
    """A record with its event. None: not an ordinary one.

    A name twice in one object would be dropped unseen by the reader of JSON: the quotation marks are counted.
    """
    if not line.startswith('{"seq":') or "\\\\" in line:
        return None
    try:
        found, end = _decode(line)
        seq, chain, event = found["seq"], found["chain"], found["event"]
        if len(found) != 3 or len(event) != len(FIELDS) or type(seq) is not int or line[end:] != "\n":
            return None
        parts, nulls = [EVENT], 0
        for value in _VALUES(event):
            if value is None:
                nulls += 1
                parts.append(NULL)
            else:
                raw = value.encode()
                parts += (_LENGTH[len(raw)], raw)
        number = int(event["id"])
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None
    if line.count('"') - line.count('\\"') != _QUOTES - 2 * nulls or event["action"] == REMOVED:
        return None
    return seq, chain, hashlib.sha256(b"".join(parts)).digest(), number


def read(block: bytes) -> list[Item | str]:
    """Each line of a block as an item, or as it is."""
    return (
        [quick(line) or line for line in block.decode().splitlines(keepends=True)] if _is_plain(block) else _kept(block)
    )


def _is_plain(block: bytes) -> bool:
    """Whether Python splits it at line feeds only."""
    return block.isascii() and not any(sign in block for sign in (b"\r", b"\x0b", b"\x0c", b"\x1c", b"\x1d", b"\x1e"))


def _kept(block: bytes) -> list[Item | str]:
    lines = block.split(b"\n")
    whole = [line + b"\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
    return [quick(text) or text for text in (line.decode() for line in whole)]


def items(file: Any, processes: int | None = None) -> Iterator[Item | str]:
    """The lines of a binary file in order, read by several processes; memory stays flat whatever its size."""
    count = processes or min(8, os.cpu_count() or 1)
    if count == 1:
        for block in _blocks(file):
            yield from read(block)
        return
    with ProcessPoolExecutor(count) as pool:
        waiting: list[Future[list[Item | str]]] = []
        for block in _blocks(file):
            waiting.append(pool.submit(read, block))
            if len(waiting) > 2 * count:
                yield from waiting.pop(0).result()
        for future in waiting:
            yield from future.result()


def _blocks(file: Any) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time."""
    rest = b""
    while data := file.read(BLOCK):
        cut = data.rfind(b"\n") + 1
        if not cut:
            rest += data
            continue
        yield rest + data[:cut]
        rest = data[cut:]
    if rest:
        yield rest


class Seen:
    """Numbers met before, a bit each."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}

    def again(self, number: int) -> bool:
        """Whether it was met; from now on it was."""
        page = self._pages.get(number >> 15)
        if page is None:
            page = self._pages[number >> 15] = bytearray(4096)
        place, bit = (number & 0x7FFF) >> 3, 1 << (number & 7)
        if page[place] & bit:
            return True
        page[place] |= bit
        return False
