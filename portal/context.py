"""What the frame of every page shows: the person's projects, open jobs, the age of the picture."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from access import gate
from access.compiled import Fixed
from access.permissions import Permission
from access.roles import Role, grants_of
from audit.models import GuestAuditor
from cluster.models import Cluster
from jobs.models import Job
from projects.models import Membership


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context for base.html; nothing is read from the database unless the template asks for it."""
    user = getattr(request, "user", None)
    base = {"demo": settings.DEMO, "simulated_gpus": settings.SIMULATED_GPUS}
    if user is None or not user.is_authenticated:
        return base | {"picture": SimpleLazyObject(_picture)}
    memberships = SimpleLazyObject(lambda: _memberships(user))
    picture = SimpleLazyObject(lambda: _picture_for(user))
    return base | {
        "picture": picture,
        "my_projects": memberships,
        "counts": {"active_jobs": SimpleLazyObject(lambda: picture.active_jobs if picture else 0)},
        "frame": {
            "can_submit": SimpleLazyObject(lambda: any(line["can_submit"] for line in memberships)),
            "can_audit": gate.site_can(user, Permission.TRAIL_READ),
            "reads_trail": SimpleLazyObject(lambda: _reads_trail(user, picture)),
            "can_operate": gate.site_can(user, Permission.CLUSTER_OPERATE),
            "theme": user.theme,
            "single_keys": user.single_keys,
        },
    }


def _reads_trail(user: Any, picture: Any) -> bool:
    """By a role on the site, or as a guest auditor."""
    return gate.site_can(user, Permission.TRAIL_READ) or bool(picture and picture.is_guest)


def _picture() -> Cluster | None:
    return Cluster.objects.first()


def _with_active_jobs(owner: int, now: datetime) -> QuerySet[Cluster]:
    own = Job.objects.filter(owner=owner).open().order_by().values("owner").annotate(n=Count("pk")).values("n")
    guest = GuestAuditor.objects.filter(user_id=owner, starts_at__lte=now, ends_at__gt=now, ended_at=None)
    rows = Cluster.objects.annotate(active_jobs=Coalesce(Subquery(own), 0), is_guest=Exists(guest))
    return rows.order_by("pk")[:1]


def _current(user: int, now: datetime) -> QuerySet[Membership]:
    rows = Membership.objects.active(now).filter(user=user).select_related("project").order_by("project__title")
    return rows.only("role", "project__code", "project__title")


# every page asks both
PICTURE = Fixed(_with_active_jobs, kept=False)
CURRENT = Fixed(_current)


def _picture_for(user: Any) -> Any:
    """The cluster with `active_jobs`, how many of the person's own are not over, and whether they are a guest auditor:
    one query for every page."""
    return PICTURE.first(owner=user.pk, now=timezone.now())


def _memberships(user: Any) -> list[dict[str, Any]]:
    return [
        {
            "code": row.project.code,
            "title": row.project.title,
            "role": Role(row.role).label,
            "can_submit": Permission.JOB_SUBMIT in grants_of(row.role),
        }
        for row in CURRENT.all(user=user.pk, now=timezone.now())
    ]
