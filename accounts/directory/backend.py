"""Sign-in through django-auth-ldap, with what it leaves out: the policy is heard, and silence is no wrong password.

The library reports a broken directory as a refused password, looks people up by what was typed, and ignores the
password policy's answers; so its steps are kept and each is given our own connection, key and errors.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables
from django_auth_ldap.backend import LDAPBackend, _LDAPUser

from access.compiled import Fixed
from accounts import admission, throttle
from accounts.directory import find
from accounts.directory.conversation import Conversation, conversation
from accounts.directory.entries import Entry
from accounts.directory.errors import NotAdmitted, Reason, Rejected
from accounts.models import User

LONGEST_PASSWORD = 1024
PERSON = Fixed(lambda pk: User.objects.filter(pk=pk, is_active=True))  # every page asks


class DirectoryBackend(LDAPBackend):
    """The only way in: a login and a password that the directory accepts. No local password ever counts."""

    @sensitive_variables("password")
    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **_: Any
    ) -> User | None:
        """The person, known and up to date.

        Raises Rejected (counted by the throttle), NotAdmitted or DirectoryDown (not counted).
        """
        try:
            typed, secret = checked(username, password)
            with conversation() as talk:
                return DirectoryUser(self, typed, request, talk).authenticate(secret)
        except Rejected as error:
            if request is not None:
                request.refused_because = error.reason  # type: ignore[attr-defined]
            raise

    def get_user(self, user_id: int) -> User | None:
        """The person of a session, unless the portal is closed to them. No question to the directory."""
        return PERSON.first(pk=user_id)

    def get_or_build_user(self, username: str, ldap_user: DirectoryUser) -> tuple[User, bool]:
        """The row keyed on the directory's own id, whatever was typed; already saved."""
        return admission.admit(ldap_user.talk, ldap_user.entry), False


class DirectoryUser(_LDAPUser):
    """One attempt to sign in, on one conversation with the directory."""

    entry: Entry

    def __init__(
        self, backend: DirectoryBackend, username: str, request: HttpRequest | None, talk: Conversation
    ) -> None:
        super().__init__(backend, username=username, request=request)
        self.talk = talk

    @sensitive_variables("password")
    def authenticate(self, password: str) -> User:
        """The library's steps, without its habit of swallowing what went wrong."""
        self._authenticate_user_dn(password)
        self._check_requirements()
        self._get_or_create_user()
        return self._user

    def _search_for_user_dn(self) -> str:
        self.entry = find.by_login(self.talk, self._username)
        throttle.same_person(self._request, self.entry.username)
        return self.entry.dn

    @sensitive_variables("password", "bind_password")
    def _bind_as(self, bind_dn: str, bind_password: str, sticky: bool = False) -> None:
        """A person's bind; what the server does not tell of a refusal, the entry may."""
        try:
            policy = self.talk.check_password(bind_dn, bind_password)
        except Rejected as error:
            locked = self.entry.locked or self.entry.locked_for_a_while
            if locked and error.reason is Reason.WRONG_PASSWORD:
                raise Rejected(Reason.LOCKED) from error
            raise
        except NotAdmitted as error:
            raise NotAdmitted(error.reason, self.entry.directory_id) from error
        if self.entry.locked:  # the server let it pass; the entry says otherwise
            raise Rejected(Reason.LOCKED)
        if self.entry.must_change:
            raise NotAdmitted(Reason.MUST_CHANGE, self.entry.directory_id)
        if self._request is not None:
            self._request.password_expires_in = policy.expires_in_seconds

    def _get_connection(self) -> None:
        """The library's own connection would know nothing of our deadline and certificate rules."""
        raise RuntimeError("all questions to the directory go through accounts.directory.conversation")


@sensitive_variables()
def checked(username: str | None, password: str | None) -> tuple[str, str]:
    """Login and password, if they can be any at all. Raises Rejected."""
    name, secret = (username or "").strip(), password or ""
    good = 0 < len(name) <= find.LONGEST_LOGIN and secret.strip() and len(secret) <= LONGEST_PASSWORD
    if not good or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name) or _unsendable(secret):
        raise Rejected(Reason.MALFORMED)
    return name, secret


def _unsendable(secret: str) -> bool:
    return "\x00" in secret or any(unicodedata.category(letter) == "Cs" for letter in secret)
