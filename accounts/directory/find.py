"""Finding people in the directory: by login (exactly one or nobody), by the directory's own id, or by a few words."""

from __future__ import annotations

import unicodedata
import uuid
from collections.abc import Iterable

import structlog
from django.conf import settings
from ldap.filter import escape_filter_chars

from accounts.directory.conversation import Conversation
from accounts.directory.entries import Entry, Unusable, entry_of, id_filter, wanted_attributes
from accounts.directory.errors import Reason, Rejected

log = structlog.get_logger(__name__)

_AT_ONCE = 50  # ids in one filter
LONGEST_LOGIN = 150
MOST_FOUND = 20  # people of one search
SHORTEST, LONGEST_WORDS, MOST_WORDS = 2, 100, 4


def by_login(talk: Conversation, typed: str) -> Entry:
    """The one person of this login. Raises Rejected (nobody, or more than one) or DirectoryDown."""
    filter_text = settings.LDAP_USER_FILTER % {"user": escape_filter_chars(typed)}
    rows = talk.search(settings.LDAP_USER_BASE, filter_text, wanted_attributes())
    if len(rows) != 1:
        raise Rejected(Reason.AMBIGUOUS if rows else Reason.UNKNOWN)
    try:
        return entry_of(*rows[0])
    except Unusable as error:
        raise Rejected(Reason.UNUSABLE) from error


def by_id(talk: Conversation, directory_id: uuid.UUID) -> Entry | None:
    """The person of this id; None means the directory answered that it has no such entry."""
    return by_ids(talk, [directory_id]).get(directory_id)


def by_ids(talk: Conversation, ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, Entry]:
    """Those of these people the directory has. Raises DirectoryDown unless every part was answered in full."""
    wanted, found = list(ids), {}
    for start in range(0, len(wanted), _AT_ONCE):
        part = wanted[start : start + _AT_ONCE]
        filter_text = f"(|{''.join(map(id_filter, part))})"
        for dn, attributes in talk.search(settings.LDAP_USER_BASE, filter_text, wanted_attributes()):
            try:
                entry = entry_of(dn, attributes)
            except Unusable as error:
                log.warning("entry of no use", dn=dn, why=str(error))
            else:
                found[entry.directory_id] = entry
    return found


class TooShort(ValueError):
    """Fewer than SHORTEST letters say nothing."""


def search(talk: Conversation, words: str) -> list[Entry]:
    """At most MOST_FOUND people in whose login, name or mail each of the words stands, by name; locked ones too.

    Raises TooShort, or DirectoryDown.
    """
    filter_text = "(&{}{})".format(settings.LDAP_USER_FILTER % {"user": "*"}, "".join(map(_holds, split(words))))
    found = []
    for dn, attributes in talk.some(settings.LDAP_USER_BASE, filter_text, wanted_attributes(), MOST_FOUND):
        try:
            found.append(entry_of(dn, attributes))
        except Unusable as error:
            log.info("entry of no use", dn=dn, why=str(error))
    return sorted(found, key=lambda entry: (entry.name.casefold(), entry.username))


def split(words: str) -> list[str]:
    """What was typed without what no entry holds. Raises TooShort."""
    clean = "".join(" " if unicodedata.category(letter)[0] == "C" else letter for letter in words[:LONGEST_WORDS])
    if sum(map(str.isalnum, clean)) < SHORTEST:
        raise TooShort(words)
    return clean.split()[:MOST_WORDS]


def _holds(word: str) -> str:
    text = escape_filter_chars(word)
    names = dict.fromkeys((settings.LDAP_LOGIN_ATTRIBUTE, settings.LDAP_NAME_ATTRIBUTE, "mail"))
    return f"(|{''.join(f'({name}=*{text}*)' for name in names)})"
