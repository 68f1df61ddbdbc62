"""How many wrong passwords: for a login from one source, for a login from anywhere, for a source with any login.

The limit of a login is lower than that of a source, and both lower than what the directory itself allows. A flood
from one source stops at its own limit, so it locks nobody out elsewhere; against many sources at once the login is
locked too, but not for a source from which this person signed in during the last weeks.
"""

from __future__ import annotations

import unicodedata
from datetime import timedelta
from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.db.models import Q, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts.address import source_network
from accounts.directory.errors import Reason, Rejected

FAMILIAR_FOR = timedelta(days=30)


class Handler(AxesDatabaseHandler):
    """Three limits instead of one: `get_failures` answers 1 where any is reached (see `limit`)."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """1: no more attempts now, 0: go on."""
        login, source = get_client_username(request, credentials), request.axes_ip_address  # type: ignore[attr-defined]
        of_login, of_source = Q(username=login), Q(ip_address=source)
        rows = AccessAttempt.objects.filter(of_login | of_source, attempt_time__gte=get_cool_off_threshold(request))
        failures = rows.aggregate(
            pair=Sum("failures_since_start", filter=of_login & of_source),
            login=Sum("failures_since_start", filter=of_login),
            source=Sum("failures_since_start", filter=of_source),
        )
        reached = {name for name, most in settings.SIGN_IN_LIMITS.items() if (failures[name] or 0) >= most}
        if reached == {"login"} and _familiar(login, source):
            return 0
        return int(bool(reached))

    def reset_user_attempts(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """A success forgives this login from this source, and nothing else: a spray is not washed off by one's own."""
        rows = AccessAttempt.objects.filter(
            username=get_client_username(request, credentials),
            ip_address=request.axes_ip_address,  # type: ignore[attr-defined]
        )
        return int(rows.delete()[0])


def _familiar(login: str, source: str | None) -> bool:
    """Whether this person signed in from there during the last weeks."""
    since = timezone.now() - FAMILIAR_FOR
    return AccessLog.objects.filter(ip_address=source, username__iexact=login, attempt_time__gte=since).exists()


def same_person(request: HttpRequest | None, login: str) -> None:
    """From here on count under the directory's own spelling, which is not always what was typed. Raises Rejected."""
    if request is None:
        return
    before = username(request, None)
    request.directory_login = login  # type: ignore[attr-defined]
    if username(request, None) != before and not AxesProxyHandler.is_allowed(request, {"username": login}):
        request.axes_locked_out = True  # type: ignore[attr-defined]
        raise Rejected(Reason.THROTTLED)


def username(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """One spelling per login: what the directory calls the person once known, else what was typed, folded."""
    known = getattr(request, "directory_login", None)
    typed = known or (credentials or {}).get("username") or request.POST.get("username") or ""
    folded = unicodedata.normalize("NFKC", typed[:300].replace("\x00", "")).casefold().strip()
    return folded[:150]


def source(request: HttpRequest) -> str | None:
    """Who counts as one source."""
    return source_network(request.META)


def limit(request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
    """Of what Handler.get_failures answers."""
    return 1


def cool_off(request: HttpRequest | None = None) -> timedelta:
    """How long failures count after the last of them."""
    return timedelta(seconds=settings.SIGN_IN_COOL_OFF_SECONDS)


def locked_out(
    request: HttpRequest, original: HttpResponse | None = None, credentials: dict[str, Any] | None = None
) -> HttpResponse:
    """429, the same for every login, whether there is such a person or not."""
    minutes = -(-settings.SIGN_IN_COOL_OFF_SECONDS // 60)
    response = render(request, "accounts/locked_out.html", {"minutes": minutes}, status=429)
    response["Retry-After"] = str(settings.SIGN_IN_COOL_OFF_SECONDS)
    return response
