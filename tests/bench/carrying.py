"""D1: a gigabyte in and out beside `cp` of the same bytes in the same folder, in turn: over HTTP, and by the door alone.

What is copied was just written, so both sides read from the page cache; both write to pages that are new. `cp` here is
coreutils': on file systems that can (btrfs, XFS) it may share blocks and copy nothing, on others the kernel copies by
itself (copy_file_range), so that no byte passes through a process. An upload is on the disk when it is answered: it
stands beside `cp` and `sync` of the copy. A download stands beside `cp` alone; who reads it throws it away. What the
same machine's loopback allows without the portal is measured in the same turns: a bare nginx, and one with a bare
process behind it (carrying_bare).
"""

from __future__ import annotations

import collections
import contextlib
import hashlib
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.bench import carrying_bare
from tests.bench.figures import Figure
from tests.bench.place import JSON, PROJECT, RESEARCHERS, Answer, Place
from tests.files import door

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "client"))

from bancada import files

MB = 1024 * 1024
PIECE = 64 * MB  # as the portal takes them
ROUNDS = 3
FILES = f"/api/v1/projects/{PROJECT}/files"
Bytes = Iterator[bytes | memoryview]
Act = Callable[[], object]
Floors = dict[str, tuple[str, Act]]  # what it is -> beside what it stands, and the act


def through_http(place: Place, size: int) -> Iterator[Figure]:
    """From nginx' port on loopback to the file system and back: as `bancada cp` does, without digests of its own."""
    name, block = f"bench-{os.urandom(4).hex()}", _block()
    try:
        yield from _beside(
            "over HTTP", place.var, block, size, lambda: _put(place, name, block, size), lambda: _get(place, name),
            lambda source: _bare(source, block, size),
        )  # fmt: skip
    finally:
        place.api(RESEARCHERS[0]).delete(f"{FILES}?path={name}")


def through_the_door(house: door.Place, size: int) -> Iterator[Figure]:
    """What of it is the door: one connection to its socket and the process behind it, neither nginx nor Django."""
    block = _block()
    yield from _beside(
        "by the door alone", house.folder, block, size, lambda: _up(house, block, size), lambda: _down(house)
    )
    (house.project / "up").unlink()


def _block() -> bytes:
    """A megabyte again and again: whatever their length, pieces that begin at a whole one follow each other."""
    return os.urandom(MB) * (PIECE // MB)


def _beside(
    way: str, folder: Path, block: bytes, size: int, up: Callable[[], str], down: Callable[[], Bytes],
    floors: Callable[[Path], contextlib.AbstractContextManager[Floors]] = lambda source: contextlib.nullcontext({}),
) -> Iterator[Figure]:  # fmt: skip
    """All of them in turn, the best of ROUNDS each; then once more what comes back, for its digest."""
    source, copy = folder / "bench-source", folder / "bench-copy"
    with source.open("wb") as file:
        for at in range(0, size, len(block)):
            file.write(memoryview(block)[: size - at])
    with source.open("rb") as file:
        digests = {hashlib.file_digest(file, "sha256").hexdigest()}
    acts: dict[str, Act] = {
        "cp": lambda: subprocess.run(["cp", source, copy], check=True),
        "cp and sync": lambda: subprocess.run(
            ["sh", "-c", 'cp "$1" "$2" && sync "$2"', "sh", source, copy], check=True
        ),
        "up": lambda: digests.add(up()),
        "down": lambda: _drained(down()),
    }
    with floors(source) as bare:
        best = _best(acts | {what: act for what, (_, act) in bare.items()})
    source.unlink()
    copy.unlink()
    yield _figure(f"upload, on the disk and whole by its SHA-256, {way}", size, best["up"], "cp and sync", best)
    yield _figure(f"download, {way}", size, best["down"], "cp", best)
    yield from (_figure(what, size, best[what], beside, best, floor=True) for what, (beside, _) in bare.items())
    whole = hashlib.sha256()
    for piece in down():
        whole.update(piece)
    same = digests == {whole.hexdigest()}
    yield Figure("D1", f"the bytes, {way}", "the same" if same else "others", goal="the same", good=same, must=True)


def _best(acts: dict[str, Act]) -> dict[str, float]:
    """Seconds of each, in turn."""
    best = dict.fromkeys(acts, float("inf"))
    for name in list(acts) * ROUNDS:
        began = time.monotonic()
        acts[name]()
        best[name] = min(best[name], time.monotonic() - began)
    return best


def _drained(pieces: Bytes) -> None:
    collections.deque(pieces, maxlen=0)


@contextlib.contextmanager
def _bare(source: Path, block: bytes, size: int) -> Iterator[Floors]:
    """What the loopback of this machine allows: the same bytes and the same client with nothing of ours between."""
    with carrying_bare.running(source) as bare:
        yield {
            "floor: download of a static file from a bare nginx": ("cp", lambda: _drained(bare.static())),
            "floor: download through nginx from a bare process that reads and hashes": (
                "cp", lambda: _drained(bare.hashed()),
            ),
            "floor: upload through nginx to a bare process that writes, hashes and syncs": (
                "cp and sync", lambda: bare.put(_pieces(block, size)),
            ),
        }  # fmt: skip


def _pieces(block: bytes, size: int) -> Iterator[memoryview]:
    """As large as a swift line has them."""
    at, step = 0, files.FIRST
    while at < size:
        piece = memoryview(block)[: min(step, size - at)]
        yield piece
        at, step = at + len(piece), files.next_step(step, PIECE, took=0)


def _figure(what: str, size: int, took: float, beside: str, best: dict[str, float], *, floor: bool = False) -> Figure:
    ratio = best[beside] / took
    goal = ("–", None) if floor else ("≥ 0.5", ratio >= 0.5)
    return Figure(
        "D1", f"{what}, {size // MB:,} MB", f"{size / MB / took:,.0f} MB/s",
        f"{beside}: {size / MB / best[beside]:,.0f} MB/s", f"{ratio:.2f}", *goal,
    )  # fmt: skip


def _put(place: Place, name: str, block: bytes, size: int) -> str:
    caller, about = place.api(RESEARCHERS[0]), {"path": name, "size": size, "overwrite": True}
    at = _told(caller.post(f"{FILES}/uploads", json.dumps(about).encode(), **JSON))
    upload, step = f"{FILES}/uploads/{at['id']}", min(files.FIRST, at["piece"])
    while at["offset"] < size:
        began, piece = time.monotonic(), memoryview(block)[: min(step, size - at["offset"])]
        at = _told(caller.put(f"{upload}?path={name}&offset={at['offset']}", piece))
        step = files.next_step(step, at["piece"], time.monotonic() - began)
    return str(_told(caller.post(f"{upload}/finish", json.dumps(about).encode(), **JSON))["digest"])


def _told(answer: Answer) -> dict[str, Any]:
    if answer.status not in (200, 201):
        raise SystemExit(f"not taken ({answer.status}): {answer.body[:300]!r}")
    return dict(answer.json())


def _get(place: Place, name: str) -> Bytes:
    """As cheap as Python has it: into one buffer, again and again."""
    link = http.client.HTTPConnection(place.host, timeout=60)
    link.request(
        "GET", f"{FILES}/content?path={name}", headers={"Authorization": f"Bearer {place.token(RESEARCHERS[0])}"}
    )
    answer, room = link.getresponse(), memoryview(bytearray(MB))
    if answer.status != 200:
        raise SystemExit(f"not given out ({answer.status})")
    while count := answer.readinto(room):
        yield room[:count]
    link.close()


def _up(house: door.Place, block: bytes, size: int) -> str:
    upload = os.urandom(16).hex()
    with house.door() as opened:
        at = opened.begin("up", upload, size, overwrite=True)
        while at < size:
            piece = memoryview(block)[: size - at]
            at = opened.piece("up", upload, at, len(piece), [piece])
        return door.finish(opened, "up", upload, size, overwrite=True)[1]


def _down(house: door.Place) -> Bytes:
    with house.door() as opened:
        yield from opened.read("up")[1]
