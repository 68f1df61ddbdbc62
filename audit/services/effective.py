"""The trail's own settings as a process runs with them: where they are others than it last said, that is an event."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.db import connection, transaction

from audit import context, trail
from audit.actions import Action
from audit.models import AuditEvent
from audit.retention import LEAST, NOTICE
from audit.services.keys import key_id
from audit.services.proofs import public_keys

SEALER, WORKER = "sealer", "worker"
_LOCK = 0x73657474


def of_sealer(key: Ed25519PrivateKey) -> dict[str, Any]:
    """What the sealer signs with, for whom, and where that goes; what of retention stands in the code."""
    return {
        "origin": settings.PUBLIC_URL,
        "key": key_id(key.public_key()),
        "file": settings.SEAL_FILE,
        "syslog": _address(settings.SEAL_SYSLOG),
        "syslog_ca": _digest_of(settings.SEAL_SYSLOG_CA),
        "pseudonym_after_hours": settings.PSEUDONYM_AFTER_HOURS,
        "least_days": {str(kind): days for kind, days in LEAST.items()},
        "notice_days": NOTICE.days,
    }


def of_worker() -> dict[str, Any]:
    """Whom it mails checkpoints to and how, which keys it believes, where exports lie, what makes references."""
    return {
        "origin": settings.PUBLIC_URL,
        "public_keys": sorted(public_keys()),
        "mail_to": [trail.Login(one) for one in sorted(settings.DPO_MAIL)],
        "mail_server": f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}" if settings.MAIL_IS_ON else "",
        "exports": settings.EXPORTS_FOLDER,
        "references": hmac.digest(settings.SECRET_KEY.encode(), b"audit.settings", hashlib.sha256).hex()[:16],
    }


def _address(url: str) -> str:
    """Without a name and password that may stand in it."""
    where = urlsplit(url)
    return f"{where.scheme}://{where.hostname}:{where.port or 6514}" if url else ""


def _digest_of(path: str) -> str:
    """The path, and what is in it by digest; the same path may hold another authority tomorrow."""
    try:
        return f"{path} {hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]}" if path else ""
    except OSError:
        return f"{path} unreadable"


@transaction.atomic
def note(part: str, now: dict[str, Any]) -> bool:
    """Write down what this part runs with, where its last event says something else; whether it did.

    That event is the memory of it. Only what the same database role wrote counts: another process cannot speak for it.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s), current_user", [_LOCK])
        role = cursor.fetchone()[1]
    said = AuditEvent.objects.filter(action=Action.TRAIL_SETTINGS_CHANGED, detail__part=part, db_role=role)
    last = said.order_by("-pk").values_list("detail__settings", flat=True).first() or {}
    with context.coming_from("system"):
        told = trail.event(Action.TRAIL_SETTINGS_CHANGED, part=part, settings=now).detail["settings"]
        changed = [name for name in sorted({*last, *told}) if last.get(name) != told.get(name)]
        if not changed:
            return False
        before, after = ({name: one[name] for name in changed if name in one} for one in (last, told))
        trail.record(Action.TRAIL_SETTINGS_CHANGED, part=part, before=before, after=after, settings=told)
    return True
