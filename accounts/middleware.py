"""When a session ends by itself: too old, too long unused, or from before "end all"; for pages and sockets alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse

from access.compiled import Fixed
from accounts import activity, services
from accounts.models import User
from accounts.sessions import SessionStore

ANYBODY = Fixed(lambda pk: User.objects.filter(pk=pk))
Next = Callable[[HttpRequest], HttpResponse]


def session_limits(get_response: Next) -> Next:
    """End a session that may not go on; note the act of one that may."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            why = ended(request.session, request.user)
            if why:
                services.expire(request, why=why)
            elif activity.is_act(request):
                activity.note(request.session)
        return get_response(request)

    return middleware


def ended(session: Any, user: Any) -> str:
    """Why the session may not go on; empty where it may. `began`, `epoch` and `info` are set at sign-in."""
    if not user.is_active or session.get("epoch") != user.session_epoch:
        return "ended"
    if time.time() - session.get("began", 0) >= settings.SESSION_ABSOLUTE_SECONDS:
        return "too old"
    idle = time.time() - activity.last_act(session) >= settings.SESSION_IDLE_SECONDS
    return "not used for too long" if idle else ""


def good(session: Any, user: Any) -> bool:
    """Whether the session may go on."""
    return not ended(session, user)


def person_of(session_key: str) -> User | None:
    """Whose session this is, if it still counts: what a socket asks at connect and again while it is open."""
    if not session_key:
        return None
    session = SessionStore(session_key)
    pk = session.get(SESSION_KEY)
    user = ANYBODY.first(pk=int(pk)) if pk else None
    return user if user is not None and good(session, user) else None
