"""What is over is deleted: sessions past a limit, and the throttle's traces of sign-ins after a month."""

from __future__ import annotations

from datetime import timedelta

from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Q
from django.utils import timezone

from accounts.models import SessionInfo
from accounts.throttle import FAMILIAR_FOR


def forget_ended() -> int:
    """How many sessions were deleted."""
    now = timezone.now()
    idle = now - timedelta(seconds=settings.SESSION_IDLE_SECONDS)
    old = now - timedelta(seconds=settings.SESSION_ABSOLUTE_SECONDS)
    over = SessionInfo.objects.filter(Q(seen_at__lt=idle) | Q(created_at__lt=old))
    keys = list(over.values_list("session_key", flat=True))
    count, _rows = Session.objects.filter(Q(session_key__in=keys) | Q(expire_date__lt=now)).delete()
    SessionInfo.objects.filter(session_key__in=keys).delete()
    AccessLog.objects.filter(attempt_time__lt=now - FAMILIAR_FOR).delete()
    AccessAttempt.objects.filter(attempt_time__lt=now - timedelta(seconds=settings.SIGN_IN_COOL_OFF_SECONDS)).delete()
    return count
