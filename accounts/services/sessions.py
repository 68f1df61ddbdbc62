"""Sessions: opened at sign-in, ended one by one or all at once. The row is Django's; SessionInfo is what is shown."""

from __future__ import annotations

import time

from django.contrib.auth import login, logout
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest

from accounts import hints
from accounts.address import source_address
from accounts.models import SessionInfo, User
from audit import trail
from audit.actions import Action

BACKEND = "accounts.directory.backend.DirectoryBackend"


@transaction.atomic
def sign_in(request: HttpRequest, *, user: User) -> SessionInfo:
    """A new session for a person the directory has vouched for; a session the browser had is ended first."""
    if request.session.get("info"):
        _drop([request.session.session_key or ""])
        request.session.flush()
    login(request, user, backend=BACKEND)
    info = SessionInfo.objects.create(
        session_key=request.session.session_key or "",
        user=user,
        address=source_address(request.META),
        user_agent=_clean(request.headers.get("User-Agent", "")),
    )
    request.session.update({"began": time.time(), "epoch": user.session_epoch, "info": info.pk})
    request.session.save()
    trail.record(
        Action.SIGNED_IN, by=user, about=user, directory_id=user.directory_id, site_role=user.site_role, session=info.pk
    )
    return info


@transaction.atomic
def sign_out(request: HttpRequest) -> None:
    """End the session of this request."""
    user, number = request.user, request.session.get("info")
    _drop([request.session.session_key or ""])
    if isinstance(user, User):
        trail.record(Action.SIGNED_OUT, by=user, about=user, session=number)
        hints.rights_changed(user.pk)
    logout(request)


@transaction.atomic
def expire(request: HttpRequest, *, why: str) -> None:
    """End the session of this request because it may not go on."""
    user, number = request.user, request.session.get("info")
    _drop([request.session.session_key or ""])
    if isinstance(user, User):
        trail.record(Action.SIGNED_OUT, about=user, session=number, why=why)
    logout(request)


@transaction.atomic
def end_session(*, info: SessionInfo, by: User) -> None:
    """End another session of a person, wherever it is open."""
    _drop([info.session_key])
    trail.record(Action.SIGNED_OUT, by=by, about=info.user, session=info.pk, why="ended from another session")
    hints.rights_changed(info.user_id)


@transaction.atomic
def end_all_sessions(*, user: User, by: User | None) -> int:
    """End all sessions of a person, also such as we have no row of; how many rows there were."""
    count = drop_sessions(user)
    trail.record(Action.SESSIONS_ENDED, by=by, about=user, sessions=count)
    hints.rights_changed(user.pk)
    return count


def drop_sessions(user: User) -> int:
    """Raise the person's epoch, so that no session from before counts, and delete the rows."""
    User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
    user.refresh_from_db(fields=["session_epoch"])
    keys = list(SessionInfo.objects.filter(user=user).values_list("session_key", flat=True))
    _drop(keys)
    return len(keys)


def _drop(keys: list[str]) -> None:
    Session.objects.filter(session_key__in=keys).delete()
    SessionInfo.objects.filter(session_key__in=keys).delete()


def _clean(text: str) -> str:
    return "".join(letter for letter in text if letter.isprintable())[:300]
