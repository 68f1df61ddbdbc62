"""Signed passes to a project's files: made by the worker, once directory, system and membership say the same."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_noop

from access import gate
from access.permissions import Permission
from accounts.lookup import DirectoryDown
from files import tickets as file_tickets
from jobs.services import people
from jobs.services.tickets import signing_key
from logs import keys
from projects.models import Project
from storage.models import FilePass

log = structlog.get_logger(__name__)
AT_ONCE = 50


def sign_asked() -> int:
    """Answer what was asked for, the oldest first; returns how many. A directory that is down leaves them asked."""
    rows = FilePass.objects.asked().select_related("project", "user").order_by("asked_at")[:AT_ONCE]
    answered = 0
    for row in rows:
        try:
            answer(row)
        except DirectoryDown:
            log.warning("passes to files wait for the directory")
            break
        answered += 1
    return answered


def answer(row: FilePass) -> None:
    """Sign for reading, and for changing where the person may; or say why not. Raises DirectoryDown."""
    asked = row.asked_at
    try:
        row.ticket, row.rights = _sign(row)
        row.refusal = ""
    except people.MayNot as error:
        row.ticket, row.rights, row.refusal = "", "", str(error)
    except file_tickets.BadTicket:
        row.ticket, row.rights = "", ""
        row.refusal = gettext_noop("The project's folder is not one that files can be reached in.")
    row.answered_at = max(asked, timezone.now())
    row.save(update_fields=["ticket", "rights", "refusal", "answered_at", "expires_at"])


def _sign(row: FilePass) -> tuple[str, str]:
    if not settings.TICKET_KEY_FILE:
        raise people.MayNot(gettext_noop("This portal has no key to sign with."))
    who = people.identity(row.user, row.project, Permission.LOG_READ)
    rights = "rw" if gate.can(row.project, row.user, Permission.JOB_SUBMIT) else "r"
    signed, row.expires_at = sign(row.project, who, rights)
    return signed, rights


def sign(project: Project, who: people.Identity, rights: str) -> tuple[str, datetime]:
    """(the signed pass of somebody who was looked at just now, its end). Raises files.tickets.BadTicket."""
    expires = timezone.now() + timedelta(seconds=settings.FILE_TICKET_SECONDS)
    ticket = file_tickets.Ticket(
        cluster=settings.CLUSTER_NAME, project=project.code, uid=who.uid, user=who.login, root=project.folder,
        rights=rights, not_after=int(expires.timestamp()), key_id=keys.key_id(signing_key()),
    )  # fmt: skip
    return file_tickets.sign(ticket, signing_key()), expires
