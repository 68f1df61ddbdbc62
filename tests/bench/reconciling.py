"""G1: reading slurmdbd's books of 1,000 projects with 10 people each and comparing them with what is wanted."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from slurm.books import Account, Association, Books, Limits, Qos
from slurm.commands import Commands
from slurm.plan import Plan, plan
from slurm.sacctmgr import Sacctmgr
from slurm.tokens import Token
from tests.bench.figures import Figure
from tests.bench.place import PARTITION, Place
from tests.contract.real_lab import RealLab

MEMBERS, LONGEST = 10, 30.0
PREFIX = "g1-"
AT_ONCE = 50  # names in a line of the clearing


class Counted(Commands):
    """How often sacctmgr was run."""

    runs = 0

    def read(self, token: Token, program: str, *args: str) -> str:
        Counted.runs += 1
        return super().read(token, program, *args)


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """Filled by the same door that keeps it, and emptied again; the commands are counted before and after.

    Only --large has the 1,000 projects of the goal: slurmdbd takes 15 minutes to be filled with them, and longer to
    delete them again (0.1 s a person, more the more there are).
    """
    count = 20 if small else 1000 if large else 200
    wanted = books(count)
    with tempfile.TemporaryDirectory() as name:
        door = opened(place, Path(name))
        empty = look(door, Books())
        try:
            yield Figure(
                "G1", f"the first filling of {count} projects × {MEMBERS} people", f"{fill(door, wanted):.0f} s"
            )
            looked = look(door, wanted)
            yield compared(count, empty, looked)
            yield Figure("G1", "one limit changed and read back, among all of them", f"{change(door, wanted):.1f} s")
        finally:
            clear(door, wanted)


def compared(count: int, empty: tuple[float, int], looked: tuple[float, int]) -> Figure:
    return Figure(
        "G1",
        f"books of {count} projects × {MEMBERS} people read and compared, nothing changed",
        f"{looked[0]:.1f} s, {looked[1]} commands",
        f"with no project: {empty[0]:.1f} s, {empty[1]} commands",
        f"{looked[0] / empty[0]:.1f} ×",
        f"≤ {LONGEST:.0f} s with 1,000, as many commands",
        looked[0] <= LONGEST * min(1, count / 1000) + empty[0] and looked[1] == empty[1],
    )


def opened(place: Place, folder: Path) -> Sacctmgr:
    """The administrator's door, with its commands counted."""
    folder.chmod(0o755)
    gateway = RealLab(place.var, folder).gateway
    gateway.commands = Counted(gateway.commands.conf, 60.0, gateway.commands.folder)
    return Sacctmgr(gateway)


def books(count: int) -> Books:
    """Every project its own people; of limits there are eight kinds."""
    names = [f"{PREFIX}{number:04d}" for number in range(count)]
    rows = [
        Association(name, f"{name}-{person}", PARTITION, frozenset({name}), name, Limits(gpus_at_once=4))
        for name in names
        for person in range(MEMBERS)
    ]
    qos = [Qos(name, Limits(gpus_at_once=1 + number % 8, gpu_minutes=60000)) for number, name in enumerate(names)]
    return Books.of([Account(name, "bench", "bench") for name in names], qos, rows)


def look(door: Sacctmgr, wanted: Books) -> tuple[float, int]:
    """(seconds, commands) of one look that finds nothing to do."""
    before, began = Counted.runs, time.monotonic()
    found = plan(wanted, door.books())
    seconds = time.monotonic() - began
    if found != Plan():
        raise SystemExit(f"not as wanted: {len(found.steps)} steps, {found.steps[:1]}")
    return seconds, Counted.runs - before


def fill(door: Sacctmgr, wanted: Books) -> float:
    began = time.monotonic()
    said = door.carry_out(plan(wanted, door.books()).steps)
    if said:
        raise SystemExit(f"sacctmgr: {said[0]}")
    return time.monotonic() - began


def change(door: Sacctmgr, wanted: Books) -> float:
    """As a PI's change is applied: only this project is read."""
    name = f"{PREFIX}0000"
    rows = [row for row in wanted.associations.values() if row.account == name]
    now = Books.of([wanted.accounts[name]], [Qos(name, Limits(gpus_at_once=2))], rows)
    began = time.monotonic()
    door.carry_out(plan(now, door.books([name], [name])).steps)
    if plan(now, door.books([name], [name])) != Plan():
        raise SystemExit("a change did not take")
    return time.monotonic() - began


def clear(door: Sacctmgr, wanted: Books) -> None:
    """People first: an account with people in it is not deleted at once."""
    names = sorted(wanted.accounts)
    for words in ("user where account=", "account ", "qos "):
        for some in batches(names):
            lines = [f"delete {words}{some}", "quit"]
            door.gateway.commands.tell(door.gateway.tokens.admin(), "sacctmgr", "-i", lines=lines, deadline=900)


def batches(names: Sequence[str]) -> list[str]:
    return [",".join(names[at : at + AT_ONCE]) for at in range(0, len(names), AT_ONCE)]
