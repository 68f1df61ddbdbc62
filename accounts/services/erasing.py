"""A person's account without the person: closed for good, a pseudonym where login, name, mail and numbers stood."""

from __future__ import annotations

from axes.models import AccessAttempt, AccessLog

from accounts.models import ApiToken, User
from accounts.services.people import deactivate


def erase(person: User, pseudonym: str) -> None:
    """In the caller's transaction. Sessions and tokens end; the directory's id is forgotten, so they would be new."""
    login = person.username
    deactivate(user=person, by=None, why="replaced by a pseudonym")
    row = User.objects.select_for_update().get(pk=person.pk)
    row.username, row.display_name, row.email, row.first_name, row.last_name = pseudonym, "", "", "", ""
    row.directory_id = row.uid_number = row.gid_number = row.directory_seen_at = row.last_login = None
    row.save()
    ApiToken.objects.filter(user=row).update(name=pseudonym)
    AccessAttempt.objects.filter(username=login).delete()
    AccessLog.objects.filter(username=login).delete()
