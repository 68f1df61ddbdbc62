"""Sessions end after an absolute time, however busy they are."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse

Next = Callable[[HttpRequest], HttpResponse]


def session_limits(get_response: Next) -> Next:
    """End a session that is older than the absolute limit or from before "end all my sessions"."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated and not still_good(request):
            logout(request)
        return get_response(request)

    return middleware


def still_good(request: HttpRequest) -> bool:
    """Whether the session may go on: `began` and `epoch` are set at sign-in."""
    began = request.session.get("began", 0)
    young = time.time() - began < settings.SESSION_ABSOLUTE_SECONDS
    return young and request.session.get("epoch") == getattr(request.user, "session_epoch", None)
