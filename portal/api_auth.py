"""Who calls the API: a personal token with a scope, or the browser's session for reading."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone, translation
from ninja.errors import AuthenticationError
from ninja.security import APIKeyCookie, HttpBearer

from accounts.models import ApiToken, TokenScope, User
from accounts.services import known_token, token_user
from audit import context, trail
from audit.actions import Action, Outcome
from audit.models import AuditEvent

SAME_TRIAL = timedelta(hours=1)
READING = frozenset({"GET", "HEAD", "OPTIONS"})


class WrongScope(Exception):
    """The token is good, but not for this."""

    def __init__(self, token: ApiToken, needed: str) -> None:
        super().__init__(needed)
        self.token, self.needed = token, needed


class Token(HttpBearer):
    """`Authorization: Bearer bnc_…`; the scopes it takes to read (None: any) and to change."""

    openapi_description = "A personal token of Bancada."

    def __init__(self, read: TokenScope | None, write: TokenScope) -> None:
        super().__init__()
        self.read, self.write = read, write

    def authenticate(self, request: HttpRequest, token: str) -> User:
        """The person behind the token; a bad one is refused even where a session is there too."""
        found = token_user(token)
        if found is None:
            _remember_dead(known_token(token))
            raise AuthenticationError
        request.user = found.user
        request.token = found  # type: ignore[attr-defined]
        context.with_token(found.prefix)
        needed = self.read if request.method in READING else self.write
        if needed is not None and needed not in found.scopes:
            raise WrongScope(found, needed)
        _speak(request, found.user)
        return found.user


class Session(APIKeyCookie):
    """The browser's session, for reading only: what changes something over the API needs a token."""

    param_name = settings.SESSION_COOKIE_NAME
    openapi_description = "The browser's session; for reading only."

    def __init__(self) -> None:
        super().__init__(csrf=False)  # reading only, so there is nothing to forge

    def authenticate(self, request: HttpRequest, key: str | None) -> Any:
        """The signed-in person."""
        signed_in = request.user.is_authenticated and request.user.is_active
        return request.user if signed_in and request.method in READING else None


def door(*, read: TokenScope | None = TokenScope.READ, write: TokenScope = TokenScope.SUBMIT) -> list[Any]:
    """What lets a caller into the routes of one room."""
    return [Token(read, write), Session()]


def _remember_dead(token: ApiToken | None) -> None:
    """Somebody holds the secret of a token that counts no more: an event, once an hour however often it is tried."""
    if token is None:
        return
    earlier = AuditEvent.objects.about("apitoken", token.pk).filter(
        action=Action.TOKEN_REFUSED, at__gt=timezone.now() - SAME_TRIAL
    )
    if not earlier.exists():
        why = "revoked" if token.revoked_at else "closed" if not token.user.is_active else "expired"
        trail.record(
            Action.TOKEN_REFUSED, about=token, outcome=Outcome.REFUSED, owner=trail.Login(token.user.username), why=why
        )


def _speak(request: HttpRequest, user: User) -> None:
    """The caller's Accept-Language counts; without one, the language the person has chosen."""
    if user.language and not request.headers.get("Accept-Language"):
        translation.activate(user.language)
