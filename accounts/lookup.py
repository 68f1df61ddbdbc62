"""What the directory says of people now: of one before the worker acts for them, of many while somebody searches."""

from __future__ import annotations

from accounts.directory import find
from accounts.directory.conversation import conversation
from accounts.directory.entries import Entry
from accounts.directory.errors import DirectoryDown, Reason, Rejected
from accounts.directory.find import SHORTEST, TooShort
from accounts.directory.patience import Turns

_SEARCHES = Turns()  # of their own: a search never takes the place of a sign-in
SEARCH_SECONDS = 3.0


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


def search(words: str) -> list[Entry]:
    """People whose login, name or mail holds these words: at most 20, locked ones too.

    Raises TooShort for fewer than SHORTEST letters, DirectoryDown.
    """
    find.split(words)  # raises before the directory is asked
    with conversation(seconds=SEARCH_SECONDS, turns=_SEARCHES) as talk:
        return find.search(talk, words)


__all__ = ["SHORTEST", "DirectoryDown", "Entry", "TooShort", "directory_entry", "search"]
