"""Comparing everybody who is open with the directory: gone is gone only when it was said twice, and not of too many.

Locked there by an administrator counts as gone. No answer, half an answer or a missing part changes nothing. One person
who left is closed within two runs; a fifth of all people missing at once is a fault of the directory (or of the
portal's rights there) until somebody says otherwise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from datetime import timedelta

import structlog
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from accounts import services
from accounts.directory import find, groups
from accounts.directory.conversation import Conversation, conversation
from accounts.directory.entries import Entry
from accounts.directory.errors import DirectoryDown
from accounts.models import ApiToken, SessionInfo, User
from audit import trail
from audit.actions import Action, Outcome
from audit.models import AuditEvent

log = structlog.get_logger(__name__)

SECONDS = 120.0  # for the whole comparison
TWICE_APART = timedelta(seconds=60)
FEW = 3  # people missing at once that are always believed
SHARE = 0.2  # of all people; more at once are not believed
ALARM_EVERY = timedelta(hours=1)


@dataclasses.dataclass(frozen=True, slots=True)
class Outcomes:
    """What one run did."""

    seen: int = 0
    missing: int = 0
    closed: int = 0
    alarm: bool = False


def run() -> Outcomes:
    """One comparison. A directory that does not answer in full changes nothing and is logged."""
    people = list(User.objects.filter(is_active=True).exclude(directory_id=None).order_by("pk"))
    try:
        with conversation(seconds=SECONDS) as talk:
            found = find.by_ids(talk, [person.directory_id for person in people if person.directory_id])
            entries = [entry for entry in found.values() if not entry.locked]  # locked there is closed here
            roles = _roles(talk, entries)
    except DirectoryDown as error:
        log.warning("directory not compared", cause=error.cause)
        return Outcomes()
    for entry in entries:
        _refresh(entry, roles)
    here = {entry.directory_id for entry in entries}
    missing = [person for person in people if person.directory_id not in here]
    return _missing(missing, everybody=len(people), seen=len(entries))


def _roles(talk: Conversation, entries: Sequence[Entry]) -> dict[object, str]:
    """Site roles of those who hold one or can act now; the others' are read when they sign in."""
    now = timezone.now()
    session = SessionInfo.objects.filter(user=OuterRef("pk"))
    token = ApiToken.objects.filter(user=OuterRef("pk"), revoked_at=None, expires_at__gt=now)
    acting = User.objects.filter(~Q(site_role="") | Q(Exists(session)) | Q(Exists(token)), is_active=True)
    ids = set(acting.values_list("directory_id", flat=True))
    return {entry.directory_id: groups.site_role(talk, entry) for entry in entries if entry.directory_id in ids}


def _refresh(entry: Entry, roles: dict[object, str]) -> None:
    user = User.objects.get(directory_id=entry.directory_id)
    role = roles.get(entry.directory_id)
    if _same(user, entry, role):
        return
    try:
        services.remember(entry=entry, site_role=groups.SiteRole(role) if role is not None else None)
    except (services.Taken, services.Closed) as error:
        log.warning("person not refreshed", person=user.username, why=type(error).__name__)


def _same(user: User, entry: Entry, role: str | None) -> bool:
    ours = (user.username, user.display_name, user.email, user.uid_number, user.gid_number)
    theirs = (entry.username, entry.name, entry.mail, entry.uid_number, entry.gid_number)
    return ours == theirs and role in (None, user.site_role) and user.directory_missing_at is None


def _missing(missing: Sequence[User], *, everybody: int, seen: int) -> Outcomes:
    User.objects.filter(is_active=True, directory_missing_at=None).exclude(directory_id=None).exclude(
        pk__in=[person.pk for person in missing]
    ).update(directory_seen_at=timezone.now())
    fresh = [person for person in missing if person.directory_missing_at is None]
    if len(missing) > max(FEW, SHARE * everybody):
        _alarm(missing, everybody)
        return Outcomes(seen, len(missing), 0, alarm=True)
    User.objects.filter(pk__in=[person.pk for person in fresh]).update(directory_missing_at=timezone.now())
    return Outcomes(seen, len(missing), _close(missing), alarm=False)


def _close(missing: Collection[User]) -> int:
    """Close those whose absence was said before, long enough ago."""
    now, closed = timezone.now(), 0
    for person in missing:
        since = person.directory_missing_at
        if since and now - since >= TWICE_APART:
            services.deactivate(user=person, by=None, why="gone from the institutional directory, or locked there")
            closed += 1
    return closed


def _alarm(missing: Sequence[User], everybody: int) -> None:
    log.error("too many people missing in the directory", missing=len(missing), everybody=everybody)
    recent = AuditEvent.objects.filter(action=Action.DIRECTORY_ALARM, at__gte=timezone.now() - ALARM_EVERY)
    if not recent.exists():
        names = [trail.Login(person.username) for person in missing[:50]]
        trail.record(
            Action.DIRECTORY_ALARM, outcome=Outcome.FAILED, missing=len(missing), everybody=everybody, people=names
        )
