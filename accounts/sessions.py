"""Where sessions are kept: Django's own table, asked in one statement that the server knows, as every page asks it."""

from __future__ import annotations

from datetime import datetime

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone

from access.compiled import Fixed


def _kept(session_key: str, now: datetime) -> QuerySet[Session]:
    return Session.objects.filter(session_key=session_key, expire_date__gt=now)


KEPT = Fixed(_kept)


class SessionStore(db.SessionStore):
    """The same sessions as Django's."""

    def _get_session_from_db(self) -> Session | None:
        found = KEPT.first(session_key=self.session_key or "", now=timezone.now())
        if found is None:
            self._session_key = None
        return found
