"""Sessions end after an absolute time, however busy they are; a session's person, for pages and sockets alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY, logout
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest, HttpResponse

from accounts.models import User

Next = Callable[[HttpRequest], HttpResponse]


def session_limits(get_response: Next) -> Next:
    """End a session that is older than the absolute limit or from before "end all my sessions"."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated and not still_good(request):
            logout(request)
        return get_response(request)

    return middleware


def still_good(request: HttpRequest) -> bool:
    """Whether the session may go on."""
    return good(request.session, request.user)


def good(session: Any, user: Any) -> bool:
    """Within the absolute limit and not ended since: `began` and `epoch` are set at sign-in."""
    young = time.time() - session.get("began", 0) < settings.SESSION_ABSOLUTE_SECONDS
    return bool(young and user.is_active and session.get("epoch") == user.session_epoch)


def person_of(session_key: str) -> User | None:
    """Whose session this is, if it still counts: what a socket asks at connect and again while it is open."""
    if not session_key:
        return None
    session = SessionStore(session_key)
    user = User.objects.filter(pk=session.get(SESSION_KEY)).first() if session.get(SESSION_KEY) else None
    return user if user is not None and good(session, user) else None
