"""How full a project's storage is: what the file system allows, whose is how much, and whether an output will fit."""

from __future__ import annotations

import dataclasses
import time

from django.utils.translation import gettext as _

from accounts.models import User
from files.client import Census, Limit, Room, Share
from projects.models import Project
from storage.services import growth, passes

WEEK = 7 * 24 * 3600
NEAR = 0.9  # of a bound: from there on it is said
SHOWN = 5  # people


@dataclasses.dataclass(frozen=True, slots=True)
class Person:
    """One person's part; `user` is None for somebody the portal does not know."""

    user: User | None
    share: Share

    @property
    def name(self) -> str:
        """As a page shows it."""
        if self.user:
            return str(self.user.name)
        return _("system") if self.share.uid == 0 else _("user %(uid)s") % {"uid": self.share.uid}


@dataclasses.dataclass(frozen=True, slots=True)
class Space:
    """What a project's page shows of its storage, as far as the person may see it; bytes."""

    census: Census
    people: list[Person]  # who has most first

    @property
    def files(self) -> int:
        """Files in all."""
        return sum(one.files for one in self.census.shares)

    @property
    def bytes(self) -> int:
        """Bytes in all."""
        return sum(one.bytes for one in self.census.shares)

    @property
    def new(self) -> int:
        """Bytes of what changed within the last seven days."""
        return sum(one.new for one in self.census.shares)

    @property
    def fastest(self) -> Person | None:
        """Who wrote most within the last seven days."""
        most = max(self.people, key=lambda one: one.share.new, default=None)
        return most if most and most.share.new else None

    @property
    def near(self) -> list[Limit]:
        """Bounds that are nearly used up."""
        return [one for one in self.census.limits if one.limit and one.used >= NEAR * one.limit]


def of_project(*, project: Project, by: User) -> Space:
    """Count a project's folder as the person sees it: one look at the door, bounded in number and time."""
    with passes.door(project, by) as door:
        census = door.census(since=int(time.time()) - WEEK)
    uids = [one.uid for one in census.shares]
    rows = project.memberships.filter(user__uid_number__in=uids, user__is_active=True).select_related("user")
    users = {row.user.uid_number: row.user for row in rows}
    return Space(census, [Person(users.get(one.uid), one) for one in census.shares])


@dataclasses.dataclass(frozen=True, slots=True)
class Grown:
    """How it grew by the days' measurements, and who grew fastest ("": nobody) by how many bytes."""

    growth: growth.Growth
    name: str
    more: int


def grown(project: Project, seen: Space) -> Grown | None:
    """None before there are two measurements."""
    found = growth.of(project)
    if found is None:
        return None
    uid, more = found.fastest or (-1, 0)
    return Grown(found, next((one.name for one in seen.people if one.share.uid == uid), ""), more)


@dataclasses.dataclass(frozen=True, slots=True)
class Shortage:
    """An output does not fit: bytes needed, bytes that are left, and what bounds them (disk, user, group, folder)."""

    needed: int
    left: int
    bound: str


def shortage(
    *, project: Project, by: User, needed: int, folder: str = "", haste: float | None = None
) -> Shortage | None:
    """Whether a job that will write `needed` bytes into the project's folder runs out of room; None where it fits.

    Raises what `passes.door` does; who asks before a job treats that as not known.
    """
    with passes.door(project, by, haste=haste) as door:
        return tightest(needed, *door.bounds(folder))


def tightest(needed: int, room: Room, limits: list[Limit]) -> Shortage | None:
    """The bound that leaves least, where that is less than what is needed."""
    left = [(room.free, "disk")] + [(max(0, one.limit - one.used), one.kind) for one in limits if one.limit]
    least, bound = min(left)
    return Shortage(needed, least, bound) if needed > least else None
