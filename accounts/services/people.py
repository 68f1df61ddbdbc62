"""A person's row: made and kept as the directory has it, closed and opened again; each with its event."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from access.roles import SiteRole
from accounts import hints
from accounts.models import User
from accounts.services import standing
from accounts.services.sessions import drop_sessions
from accounts.services.tokens import revoke_all
from audit import trail
from audit.actions import Action

if TYPE_CHECKING:  # with it comes python-ldap, which most processes never need
    from accounts.directory.entries import Entry

IDENTITY = ("username", "uid_number", "gid_number")


class Taken(Exception):
    """Login or uid number belong to another open person."""


class Closed(Exception):
    """The portal was closed to this person by somebody; the directory does not open it again."""


def claimants(entry: Entry) -> list[User]:
    """Others who have this entry's login, or are open and have its uid number."""
    same = Q(username=entry.username)
    if entry.uid_number is not None:
        same |= Q(uid_number=entry.uid_number, is_active=True)
    return list(User.objects.filter(same).exclude(directory_id=entry.directory_id))


def remember(*, entry: Entry, site_role: SiteRole | None = None) -> User:
    """The person of this entry, as the entry says now. `site_role` None: the groups were not read, keep the role.

    Raises Taken or Closed.
    """
    try:
        with transaction.atomic():
            return _remember(entry, site_role)
    except IntegrityError as error:
        raise Taken(entry.username) from error


def _remember(entry: Entry, site_role: SiteRole | None) -> User:
    wanted = _wanted(entry, site_role)
    user = User.objects.select_for_update().filter(directory_id=entry.directory_id).first()
    if user is None:
        return _first_seen(entry, wanted)
    if not user.is_active:
        _reopen(user, entry)
    before = {name: getattr(user, name) for name in (*IDENTITY, "site_role")}
    for name, value in wanted.items():
        setattr(user, name, value)
    if user.has_usable_password():
        user.set_unusable_password()
    user.save()
    standing.note(user)
    _tell(user, before)
    return user


def _wanted(entry: Entry, site_role: SiteRole | None) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "username": entry.username,
        "display_name": entry.name,
        "email": entry.mail,
        "uid_number": entry.uid_number,
        "gid_number": entry.gid_number,
        "directory_seen_at": timezone.now(),
        "directory_missing_at": None,
    }
    return fields if site_role is None else fields | {"site_role": site_role}


def _first_seen(entry: Entry, wanted: dict[str, Any]) -> User:
    user = User(directory_id=entry.directory_id, **wanted)
    user.set_unusable_password()
    user.save()
    standing.note(user)
    trail.record(
        Action.USER_CREATED, about=user, directory_id=entry.directory_id, uid_number=user.uid_number, dn=entry.dn
    )
    _tell(user, {"site_role": SiteRole.NONE})
    return user


def _reopen(user: User, entry: Entry) -> None:
    """Whoever was closed because the directory no longer had them (or locked them) is open again when it has."""
    if user.directory_missing_at is None or entry.locked:
        raise Closed(user.username)
    user.is_active = True
    trail.record(Action.USER_REOPENED, about=user, missing_since=user.directory_missing_at)


def _tell(user: User, before: dict[str, Any]) -> None:
    changed = {name: [was, getattr(user, name)] for name, was in before.items() if was != getattr(user, name)}
    role = changed.pop("site_role", None)
    if changed:
        if "username" in changed:
            changed["username"] = [trail.Login(name) for name in changed["username"]]
        trail.record(Action.USER_CHANGED, about=user, **changed)
    if role:
        trail.record(Action.ROLE_CHANGED, about=user, before=role[0], after=role[1])
        hints.rights_changed(user.pk)


@transaction.atomic
def deactivate(*, user: User, by: User | None, why: str) -> None:
    """Close the portal to a person: sessions, tokens and sockets end. Does nothing where it is closed already."""
    row = User.objects.select_for_update().get(pk=user.pk)
    if not row.is_active:
        return
    row.is_active = user.is_active = False
    row.save(update_fields=["is_active"])
    standing.note(row)
    sessions, tokens = drop_sessions(row), revoke_all(user=row, by=by, why=why)
    trail.record(Action.USER_CLOSED, by=by, about=row, why=why, sessions=sessions, tokens=tokens)
    hints.rights_changed(row.pk)


@transaction.atomic
def step_aside(*, user: User, to: uuid.UUID) -> None:
    """The login (or uid number) of somebody who left came back as another person: freeze the old row, free the name."""
    deactivate(user=user, by=None, why=f"login or user number now belongs to {to}")
    row = User.objects.select_for_update().get(pk=user.pk)
    before, row.username = row.username, f"{row.username[:120]}+left-{row.pk}"
    row.save(update_fields=["username"])
    trail.record(Action.USER_CHANGED, about=row, username=[trail.Login(before), trail.Login(row.username)])
