"""What the directory says of one person now: asked before the worker acts for them."""

from __future__ import annotations

from accounts.directory import find
from accounts.directory.conversation import conversation
from accounts.directory.entries import Entry
from accounts.directory.errors import DirectoryDown, Reason, Rejected


def directory_entry(username: str) -> Entry | None:
    """The entry of this login; None where the directory answered that it has none (or no single one).

    Raises DirectoryDown: nothing is known. Callers compare `directory_id` with the person's own.
    """
    try:
        with conversation() as talk:
            return find.by_login(talk, username)
    except Rejected as error:
        if error.reason is Reason.UNUSABLE:
            raise DirectoryDown(str(error)) from error
        return None


__all__ = ["DirectoryDown", "Entry", "directory_entry"]
