"""A conversation with the directory, bound as the portal: searches, and checks of a person's password in between."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ldap
from django.conf import settings
from ldap.controls.ppolicy import PasswordPolicyControl
from ldap.ldapobject import LDAPObject

from accounts.directory.errors import DirectoryDown, Rejected
from accounts.directory.opening import down, opened
from accounts.directory.patience import TURNS, Deadline, Turns
from accounts.directory.policy import Policy, reason_of
from accounts.directory.servers import Server, servers

Row = tuple[str, dict[str, list[bytes]]]  # a DN and its attributes by lower-case name

NOT_A_MATCH = (
    ldap.INVALID_CREDENTIALS,
    ldap.INAPPROPRIATE_AUTH,  # the entry has no password
    ldap.CONSTRAINT_VIOLATION,  # 389 Directory Server: too many attempts
    ldap.UNWILLING_TO_PERFORM,  # 389 Directory Server: entry inactivated
    ldap.NO_SUCH_OBJECT,  # gone since the search
)


LIMITS = (ldap.SIZELIMIT_EXCEEDED, ldap.ADMINLIMIT_EXCEEDED)


class Conversation:
    """Searches and password checks on one connection."""

    def __init__(self, link: LDAPObject, deadline: Deadline) -> None:
        self._link, self._deadline = link, deadline

    def bind_portal(self) -> None:
        """Become the portal. Raises DirectoryDown, also where the directory does not know the portal's password."""
        try:
            self._bind(settings.AUTH_LDAP_BIND_DN, settings.AUTH_LDAP_BIND_PASSWORD)
        except ldap.LDAPError as error:
            raise down(error, "the portal's own bind") from error

    def search(self, base: str, filter_text: str, attributes: Sequence[str]) -> list[Row]:
        """All rows below `base`, or DirectoryDown: part of an answer is no answer."""
        try:
            message = self._link.search_ext(base, ldap.SCOPE_SUBTREE, filter_text, list(attributes))
            _kind, rows, _id, _controls = self._link.result3(message, all=1, timeout=self._deadline.left())
        except ldap.LDAPError as error:
            raise down(error, f"search below {base}") from error
        return [(dn, {name.lower(): values for name, values in found.items()}) for dn, found in rows if dn is not None]

    def some(self, base: str, filter_text: str, attributes: Sequence[str], most: int) -> list[Row]:
        """At most `most` rows below `base`, and no more than the server wants to give. Raises DirectoryDown."""
        rows: list[Row] = []
        try:
            message = self._link.search_ext(base, ldap.SCOPE_SUBTREE, filter_text, list(attributes), sizelimit=most)
            kind = None
            while kind != ldap.RES_SEARCH_RESULT:  # one by one: what came before the limit counts
                kind, found, *_rest = self._link.result3(message, all=0, timeout=self._deadline.left())
                rows += [(dn, {name.lower(): values for name, values in more.items()}) for dn, more in found if dn]
        except LIMITS:
            pass
        except ldap.LDAPError as error:
            raise down(error, f"search below {base}") from error
        return rows[:most]

    def check_password(self, dn: str, password: str) -> Policy:
        """Bind as a person, then as the portal again; what the password policy said. Raises Rejected, NotAdmitted."""
        try:
            controls = self._bind(dn, password, [PasswordPolicyControl()])
        except NOT_A_MATCH as error:
            raise Rejected(reason_of(error)) from error
        except ldap.LDAPError as error:
            raise down(error, "a password check") from error
        policy = Policy.heard(controls)
        policy.admit()
        self.bind_portal()
        return policy

    def _bind(self, dn: str, password: str, controls: Sequence[Any] = ()) -> Sequence[Any]:
        message = self._link.simple_bind(dn, password, serverctrls=list(controls) or None)
        answer = self._link.result3(message, all=1, timeout=self._deadline.left())
        return answer[3] or []


@contextmanager
def conversation(*, seconds: float | None = None, turns: Turns = TURNS) -> Iterator[Conversation]:
    """A conversation with the first server that answers. Raises DirectoryDown."""
    whole = Deadline(seconds or settings.LDAP_DEADLINE_SECONDS)
    with turns.turn(), contextlib.ExitStack() as stack:
        yield _first(stack, servers(), whole)


def _first(stack: contextlib.ExitStack, candidates: Sequence[Server], whole: Deadline) -> Conversation:
    last = DirectoryDown("LDAP_URL is not set")
    for number, server in enumerate(candidates):
        share = Deadline(whole.left() / (len(candidates) - number))  # a hung server must not eat the others' time
        try:
            with contextlib.ExitStack() as attempt:
                link = attempt.enter_context(opened(server, share, whole))
                Conversation(link, share).bind_portal()
                stack.enter_context(attempt.pop_all())
            return Conversation(link, whole)
        except DirectoryDown as error:
            last = error
    raise last
