"""The institutional directory: reached, encrypted, searchable, with the groups behind the site roles."""

from __future__ import annotations

import time

from django.conf import settings
from ldap.filter import escape_filter_chars

from accounts.directory.conversation import Conversation, conversation
from accounts.directory.entries import Unusable, entry_of, wanted_attributes
from accounts.directory.errors import DirectoryDown
from accounts.directory.patience import Turns
from accounts.directory.servers import servers, trouble
from portal.doctor.finding import Trouble

SLOW_SECONDS = 1.0


def server() -> str:
    """Each server of LDAP_URL: a TLS handshake with its certificate checked."""
    if not servers():
        raise Trouble("LDAP_URL is not set", "set LDAP_URL, for example ldaps://directory.example.org")
    for one in servers():
        if not one.encrypted:
            raise Trouble(f"{one.url} would carry passwords in clear", "use ldaps://, or LDAP_START_TLS=1")
        why = trouble(one, 3.0) if one.scheme != "ldapi" else ""
        if why:
            raise Trouble(f"{one.url}: {why}", f"correct the server's certificate, its name, or LDAP_CA_FILE ({_ca()})")
    return f"{len(servers())} with a good certificate"


def _ca() -> str:
    return settings.LDAP_CA_FILE or "not set"


def search() -> str:
    """Bind as the portal and read people: the id and the login must be there for us."""
    began = time.monotonic()
    try:
        with conversation(turns=Turns()) as talk:
            found = _people(talk)
    except DirectoryDown as error:
        raise Trouble(error.cause, _fix(error)) from error
    took = time.monotonic() - began
    if took > SLOW_SECONDS:
        raise Trouble(f"{found}, but it took {took:.1f} s", "index uid and the id attribute in the directory")
    return f"{found} ({took * 1000:.0f} ms)"


def _fix(error: DirectoryDown) -> str:
    if "own bind" in error.cause:
        return "correct LDAP_BIND_DN and LDAP_BIND_PASSWORD"
    return "start the directory, or correct LDAP_URL, LDAP_USER_BASE and what the portal may read there"


def _people(talk: Conversation) -> str:
    anybody = f"({settings.LDAP_LOGIN_ATTRIBUTE}=*)"
    try:
        rows = talk.search(settings.LDAP_USER_BASE, anybody, wanted_attributes())
    except DirectoryDown as error:
        if "limit" in error.cause.lower():  # a large directory tells only part of it: enough to know that it answers
            return "many people"
        raise
    if not rows:
        raise Trouble("the portal sees nobody there", "correct LDAP_USER_BASE, or let LDAP_BIND_DN read people")
    try:
        entry_of(*rows[0])
    except Unusable as error:
        fix = "correct LDAP_ID_ATTRIBUTE and LDAP_LOGIN_ATTRIBUTE, or let LDAP_BIND_DN read them"
        raise Trouble(f"{rows[0][0]}: {error}", fix) from error
    return f"{len(rows)} people"


def site_groups() -> str:
    """The groups behind the site roles: there, and one of each name."""
    names = [*settings.LDAP_OPERATOR_GROUPS, *settings.LDAP_AUDITOR_GROUPS]
    try:
        with conversation(turns=Turns()) as talk:
            found = {name: _count(talk, name) for name in names}
    except DirectoryDown as error:
        raise Trouble(error.cause, "correct LDAP_GROUP_BASE, or let LDAP_BIND_DN read groups") from error
    for name, count in found.items():
        if count != 1:
            said = f"there is no group {name}" if not count else f"{count} groups are called {name}: none counts"
            raise Trouble(said, "correct LDAP_OPERATOR_GROUPS and LDAP_AUDITOR_GROUPS; a whole DN is unmistakable")
    return ", ".join(names) or "none asked for"


def _count(talk: Conversation, name: str) -> int:
    if "=" in name:
        return len(talk.search(name, "(objectClass=*)", ["cn"]))
    return len(talk.search(settings.LDAP_GROUP_BASE, f"(&(cn={escape_filter_chars(name)})(member=*))", ["cn"]))
