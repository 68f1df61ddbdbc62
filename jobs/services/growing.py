"""Once a day each project's folder is measured, by the worker that signs passes, as one of the project's people."""

from __future__ import annotations

import time

import structlog
from django.conf import settings

from access.permissions import Permission
from access.roles import Role
from accounts.lookup import DirectoryDown
from accounts.models import User
from files.answers import Refused
from files.client import Census, Door, DoorDown
from files.tickets import BadTicket
from jobs.services import file_tickets, people
from projects.models import Membership, Project
from storage.services import growth, space

log = structlog.get_logger(__name__)
PATIENCE = 8.0  # seconds for one folder: the walk itself ends after five, and jobs wait for this worker
AS_MOST = 3  # people tried


def measure_one() -> bool:
    """Measure one project that has no measurement of today; False where there is none, or no directory."""
    project = growth.waiting() if settings.TICKET_KEY_FILE else None
    if project is None:
        return False
    try:
        growth.keep(project, _census(project))
    except DirectoryDown:
        log.warning("no folder is measured: the directory is away")
        return False
    return True


def _census(project: Project) -> Census | None:
    for user in _people(project):
        try:
            with Door(settings.FILES_SOCKET, _pass(project, user), timeout=PATIENCE) as door:
                return door.census(since=int(time.time()) - space.WEEK)
        except (people.MayNot, BadTicket, Refused, DoorDown) as error:
            log.info("a folder is not measured", project=project.code, why=str(error) or type(error).__name__)
    return None


def _people(project: Project) -> list[User]:
    """Its PIs first, then who has been in it longest."""
    rows = Membership.objects.active().filter(project=project, user__is_active=True, user__uid_number__gte=1000)
    found = sorted(rows.select_related("user"), key=lambda row: (row.role != Role.PI, row.starts_at))
    return [row.user for row in found[:AS_MOST]]


def _pass(project: Project, user: User) -> str:
    """For reading, kept nowhere."""
    return file_tickets.sign(project, people.identity(user, project, Permission.LOG_READ), "r")[0]
