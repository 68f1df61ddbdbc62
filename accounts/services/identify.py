"""Who is it? Asks the directory, and writes every refusal down with its true reason, which the page does not show."""

from __future__ import annotations

from django.contrib.auth import authenticate
from django.core.cache import cache
from django.http import HttpRequest
from django.utils.crypto import salted_hmac
from django.views.decorators.debug import sensitive_variables

from accounts.address import source_network
from accounts.directory.errors import DirectoryDown, NotAdmitted, Reason
from accounts.models import User
from audit import trail
from audit.actions import Action, Outcome

SELDOM = {Reason.THROTTLED, Reason.DIRECTORY_DOWN}  # a flood of these must not flood the trail
SELDOM_SECONDS = 60


class WrongPassword(Exception):
    """Login and password do not make a person; all reasons look alike."""


@sensitive_variables("password")
def identify(request: HttpRequest, *, username: str, password: str) -> User:
    """The person. Raises WrongPassword, accounts.directory.errors.NotAdmitted or DirectoryDown; each is recorded."""
    try:
        user = authenticate(request, username=username, password=password)
    except NotAdmitted as error:
        _record(request, username, error.reason)
        raise
    except DirectoryDown as error:
        _record(request, username, Reason.DIRECTORY_DOWN, cause=error.cause)
        raise
    if not isinstance(user, User):
        _record(request, username, getattr(request, "refused_because", Reason.THROTTLED))
        raise WrongPassword
    return user


def _record(request: HttpRequest, typed: str, reason: Reason, *, cause: str | None = None) -> None:
    """The login as the directory spells it; of anything else only a digest: people type passwords there."""
    login = getattr(request, "directory_login", "")
    digest = "" if login else salted_hmac("accounts.typed", typed).hexdigest()[:16]
    source = source_network(request.META)
    if reason in SELDOM and not cache.add(f"refused:{reason.name}:{login or digest}:{source}", 1, SELDOM_SECONDS):
        return
    trail.record(
        Action.SIGN_IN_REFUSED,
        about=User.objects.filter(username=login).first() if login else None,
        outcome=Outcome.FAILED if reason is Reason.DIRECTORY_DOWN else Outcome.REFUSED,
        reason=str(reason),
        login=trail.Login(login) if login else None,
        typed=digest or None,
        cause=cause,
    )
