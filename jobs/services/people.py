"""Before the worker acts for a person: directory, system and membership must say the same, now.

Membership and system are asked each time; what the directory said may be up to REMEMBERED seconds old.
"""

from __future__ import annotations

import dataclasses
import pwd
import time
from typing import TYPE_CHECKING

from django.utils.translation import gettext_noop

from access import gate
from access.permissions import Permission
from accounts.models import User
from projects.models import Project

if TYPE_CHECKING:  # with it comes python-ldap, and only the worker asks
    from accounts import lookup

LOWEST_UID = 1000
REMEMBERED = 4.0  # seconds: a right that ends in the directory ends here within five
MOST_KNOWN = 1000
_known: dict[str, tuple[float, lookup.Entry]] = {}


class MayNot(Exception):
    """The person may not act; the message (English, translated where shown) says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Identity:
    """Whom Slurm will see."""

    login: str
    uid: int
    home: str
    shell: str


def identity(user: User, project: Project, permission: Permission) -> Identity:
    """The person's identity on the cluster, once all three sources agree.

    Raises MayNot, or accounts.lookup.DirectoryDown where the directory did not answer (then nothing is known).
    """
    if not user.is_active or not gate.can(project, user, permission):
        raise MayNot(gettext_noop("The person is no longer a member who may do this."))
    entry = _entry(user.username)
    if entry is None or entry.directory_id != user.directory_id:
        raise MayNot(gettext_noop("The institutional directory does not know this person any more."))
    if entry.locked:
        raise MayNot(gettext_noop("The person's sign-in is locked in the institutional directory."))
    return _on_system(user, entry.uid_number)


def _entry(login: str) -> lookup.Entry | None:
    """What the directory says; a good answer is believed for REMEMBERED seconds, so that a burst asks once."""
    at, known = _known.get(login, (0.0, None))
    if known is not None and time.monotonic() - at < REMEMBERED:
        return known
    from accounts import lookup

    _known.pop(login, None)
    asked_at, entry = time.monotonic(), lookup.directory_entry(login)
    if entry is not None and not entry.locked:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[login] = (asked_at, entry)
    return entry


def _on_system(user: User, directory_uid: int | None) -> Identity:
    try:
        row = pwd.getpwnam(user.username)
    except KeyError:
        raise MayNot(gettext_noop("The cluster does not know this login.")) from None
    if not directory_uid == row.pw_uid == user.uid_number or row.pw_uid < LOWEST_UID:
        raise MayNot(gettext_noop("The user number differs between directory, cluster and portal."))
    return Identity(user.username, row.pw_uid, row.pw_dir, row.pw_shell)
