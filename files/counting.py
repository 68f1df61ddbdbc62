"""Whose is how much beneath a folder, how much of it is new, and what its file system allows: one bounded walk."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from files import limits
from files.beneath import Root
from files.looking import Walk
from files.wire import ANSWER, Channel, pack

MOST_PEOPLE = 200  # those who have most; the packet is bounded


def send_census(channel: Channel, root: Root, uid: int, asked: dict[str, Any]) -> None:
    """Per uid: files, bytes, bytes of what changed since `since`; and the room there is."""
    with root.folder(asked["path"]) as folder:
        room, bounds = limits.told(folder, uid)
    walked, found = Walk(root), defaultdict[int, list[int]](lambda: [0, 0, 0])
    for _, status in walked.files(asked["path"]):
        share = found[status.st_uid]
        taken = min(status.st_size, status.st_blocks * 512)  # a sparse file takes less than it is long
        share[0] += 1
        share[1] += taken
        share[2] += taken if status.st_mtime >= asked["since"] else 0
    most = sorted(([one, *share] for one, share in found.items()), key=lambda row: -row[2])[:MOST_PEOPLE]
    channel.send(ANSWER, pack({"shares": most, "cut": walked.cut, "limits": bounds, "room": room}))
