"""D1: the files' door by itself: a long list, bytes in and out beside `cp`, memory at 10 GB, fifty people at once; the
same bytes over HTTP."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from files.names import PART
from tests.bench import carrying
from tests.bench.figures import Figure, quantile
from tests.bench.gpus import resident, spent
from tests.bench.place import Place
from tests.files import door
from tests.files.door import ANA

MB = 1024 * 1024
ENTRIES, PEOPLE, OPENS = 10_000, 50, 8


def measure(place: Place, *, small: bool = False, large: bool = False) -> Iterator[Figure]:
    """The door as it runs in production, over a folder of this machine; then all of it, from nginx' port on."""
    yield from carrying.through_http(place, 66 * MB if small else 1026 * MB)
    with door.running() as house:
        yield from _list(house, ENTRIES // 10 if small else ENTRIES)
        yield from carrying.through_the_door(house, 66 * MB if small else 1026 * MB)
        yield _memory(house, 256 * MB if small else 10 * 1024 * MB)
        yield _checked(house, 256 * MB if small else 10 * 1024 * MB)
        yield _people(house, 5 if small else PEOPLE)


def _took(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _list(house: door.Place, entries: int) -> Iterator[Figure]:
    for number in range(entries):
        (house.project / f"sample-{number:05d}.png").touch()
    times = []
    for _ in range(10):
        with house.door() as opened:
            times.append(_took(lambda opened=opened: opened.folder("", limit=entries)) * 1000)
    worst = quantile(times, 0.95)
    yield Figure("D1", f"list of {entries:,} entries, p95", f"{worst:.0f} ms", goal="≤ 300 ms", good=worst <= 300)
    for path in house.project.iterdir():
        path.unlink()


def _memory(house: door.Place, size: int) -> Figure:
    """The source is sparse; its zeros are read and sent like any bytes."""
    (house.project / "giant").touch()
    os.truncate(house.project / "giant", size)
    door.own(house.project / "giant", ANA, 0o660)
    seen, sent = [], 0
    with house.door() as opened:
        for number, piece in enumerate(opened.read("giant")[1]):
            sent += len(piece)
            if number % 1024 == 1:
                seen.append(max(map(resident, _children(house))))
    grown = max(seen) - seen[0]
    good = grown <= 4 and sent == size
    (house.project / "giant").unlink()
    return Figure("D1", f"memory of the door while {size / MB / 1024:.1f} GB go out (sparse)", f"+{grown:.1f} MB",
                  f"{seen[0]:.0f} MB at the start", goal="flat", good=good)  # fmt: skip


def _checked(house: door.Place, size: int) -> Figure:
    """The end of an upload of zeros, of which the disk holds none: what it costs to read them again."""
    upload, seen = os.urandom(16).hex(), []
    with house.door() as opened:
        opened.begin("giant", upload, 0)
        os.truncate(house.project / (PART + upload), size)
        began, steps = time.monotonic(), opened.check("giant", upload, size)
        for _ in steps:
            seen.append(max(map(resident, _children(house))))
        took, grown = time.monotonic() - began, max(seen) - seen[0]
        opened.abandon("giant", upload)
    return Figure("D1", f"an upload of {size / MB / 1024:.1f} GB checked at its end (sparse)", f"{took:.1f} s",
                  f"memory of the door +{grown:.1f} MB", goal="flat", good=grown <= 4)  # fmt: skip


def _children(house: door.Place) -> list[int]:
    pid = house.process.pid if house.process else 0
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _people(house: door.Place, people: int) -> Figure:
    """Each a uid of their own, in a folder open to all; what the root process itself spends on one opening, and how
    often it forks."""
    house.project.chmod(0o2777)
    house.write("f", b"x", mode=0o666)
    pid = house.process.pid if house.process else 0
    failed: list[Exception] = []

    def browse(uid: int) -> None:
        try:
            for _ in range(OPENS):
                with house.door(uid, user=f"p{uid}") as opened:
                    opened.folder("")
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=browse, args=(50_000 + n,)) for n in range(people)]
    for n in range(people):
        door.LOGINS[50_000 + n] = f"p{50_000 + n}"
    before, forks = spent(pid), house.forks
    took = _took(lambda: [*map(threading.Thread.start, threads), *map(threading.Thread.join, threads)])
    each = (spent(pid) - before) / (people * OPENS) * 1000
    forks = house.forks - forks
    return Figure("D1", f"{people} people browse, {people * OPENS} openings",
                  f"{forks} forks, {each:.1f} ms of CPU of the root process each",
                  f"{people * OPENS / took:.0f} openings/s, {len(failed)} failed", goal="≤ one fork an opening, none failed",
                  good=not failed and forks <= people * OPENS)  # fmt: skip
