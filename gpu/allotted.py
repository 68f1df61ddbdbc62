"""Which cards are allotted to which job: by what the site's prolog wrote, else by what Slurm told the job."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gpu.whose import Whose

_NUMBERS = re.compile(r"^\d+(?:-\d+)?$")
_JOB = re.compile(r"^\d+$")


def of_environment(whose: Whose, job: str) -> tuple[set[int], set[str]]:
    """(indexes, uuids) of the cards Slurm named to the first processes of a job, whose uid must be the job's."""
    indexes, uuids = set[int](), set[str]()
    uid = whose.now.uids.get(job)
    for pid in whose.first(job):
        if set(whose.proc.uids(pid)) == {uid}:
            told = whose.proc.environment(pid)
            indexes |= numbers(told.get("SLURM_JOB_GPUS") or told.get("SLURM_STEP_GPUS", ""))
            visible = told.get("CUDA_VISIBLE_DEVICES", "").split(",")
            uuids |= {word for word in visible if word.startswith(("GPU-", "MIG-"))}
    return indexes, uuids


def numbers(text: str) -> set[int]:
    """ "0,2-3" as {0, 2, 3}; words that are no numbers say nothing."""
    found = set[int]()
    for word in text.split(","):
        if _NUMBERS.match(word):
            first, _, last = word.partition("-")
            found |= set(range(int(first), min(int(last or first), int(first) + 64) + 1))
    return found


def of_folder(folder: Path | None) -> dict[str, set[str]] | None:
    """{index or uuid: jobs} from files that root's prolog wrote, each named by a card and holding ids of jobs."""
    if folder is None:
        return None
    found: dict[str, set[str]] = {}
    try:
        for entry in os.scandir(folder):
            if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == 0:
                found[entry.name] = {word for word in Path(entry.path).read_text().split() if _JOB.match(word)}
    except OSError:
        return None
    return found


class Allotments:
    """The jobs of each card, told anew at every look."""

    def __init__(self, whose: Whose, folder: Path | None = None) -> None:
        self.whose, self.folder = whose, folder
        self._by_card: dict[str, set[str]] = {}

    def look(self) -> None:
        """After `whose.look()`."""
        written = of_folder(self.folder)
        if written is not None:
            self._by_card = written
            return
        self._by_card = {}
        for job in self.whose.now.members:
            indexes, uuids = of_environment(self.whose, job)
            for card in {*map(str, indexes), *uuids}:
                self._by_card.setdefault(card, set()).add(job)

    def jobs(self, *names: str) -> set[str]:
        """The jobs a card (by index or uuid) is allotted to. Two that claim the same by their own word: neither."""
        found = set[str]().union(*(self._by_card.get(name, ()) for name in names))
        return found if self.folder is not None or len(found) < 2 else set()
