"""From an entry of the directory to a person of the portal: role from the groups, and nobody takes another's place."""

from __future__ import annotations

import uuid

from accounts import services
from accounts.directory import find, groups
from accounts.directory.conversation import Conversation, conversation
from accounts.directory.entries import Entry
from accounts.directory.errors import NotAdmitted, Reason, Rejected
from accounts.models import User


def admit(talk: Conversation, entry: Entry) -> User:
    """The person of this entry, open and up to date. Raises NotAdmitted, or DirectoryDown where anything is unsure."""
    role = groups.site_role(talk, entry)
    for other in services.claimants(entry):
        _make_way(talk, entry, other)
    try:
        return services.remember(entry=entry, site_role=role)
    except services.Closed as error:
        raise NotAdmitted(Reason.INACTIVE, entry.directory_id) from error
    except services.Taken as error:
        raise NotAdmitted(Reason.UID_TAKEN, entry.directory_id) from error


def person_by_login(username: str) -> User:
    """Somebody who need not have signed in yet, for whoever adds them. Raises Rejected, NotAdmitted, DirectoryDown."""
    with conversation() as talk:
        return admit(talk, find.by_login(talk, username))


def person_by_id(directory_id: uuid.UUID) -> User:
    """Somebody chosen from a search, by the directory's own id; they need not have signed in yet.

    Raises Rejected (nobody, or locked), NotAdmitted, DirectoryDown.
    """
    with conversation() as talk:
        entry = find.by_id(talk, directory_id)
        if entry is None or entry.locked:
            raise Rejected(Reason.UNKNOWN if entry is None else Reason.LOCKED)
        return admit(talk, entry)


def _make_way(talk: Conversation, entry: Entry, other: User) -> None:
    """Somebody else has the login or the uid number: gone, then they step aside; renamed, then they are renamed."""
    theirs = find.by_id(talk, other.directory_id) if other.directory_id else None
    if theirs is None:
        services.step_aside(user=other, to=entry.directory_id)
    elif theirs.username == entry.username or theirs.uid_number == entry.uid_number:
        raise NotAdmitted(Reason.UID_TAKEN, entry.directory_id)
    else:
        _renamed(theirs, entry)


def _renamed(theirs: Entry, entry: Entry) -> None:
    try:
        services.remember(entry=theirs)
    except services.Closed:
        pass  # closed rows keep their old name; remember() below says what is wrong if it is this one
    except services.Taken as error:
        raise NotAdmitted(Reason.UID_TAKEN, entry.directory_id) from error
