"""What the frame of every page shows: the person's projects, open jobs, the age of the picture."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, Exists, QuerySet, Subquery
from django.db.models.functions import Coalesce, JSONObject
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.functional import SimpleLazyObject

from access import gate
from access.compiled import Fixed
from access.permissions import Permission
from access.roles import Role, grants_of
from audit.models import GuestAuditor
from cluster.models import AT_SIGN_IN, Announcement, Cluster, Maintenance, shown_to
from cluster.services.announcing import concerns
from jobs.models import Job
from projects.models import Membership

NEWS = ("id", "tone", "text_en", "text_pt", "partition", "project_code")
WINDOW = ("id", "starts_at", "ends_at", "node_names", "reason_en", "reason_pt")


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context for base.html; nothing is read from the database unless the template asks for it."""
    user = getattr(request, "user", None)
    base = {"demo": settings.DEMO, "simulated_gpus": settings.SIMULATED_GPUS}
    if user is None or not user.is_authenticated:
        news = SimpleLazyObject(lambda: AT_SIGN_IN.all(now=timezone.now()))
        return base | {"picture": SimpleLazyObject(_picture), "news": news}
    memberships = SimpleLazyObject(lambda: _memberships(user))
    picture = SimpleLazyObject(lambda: _picture_for(user))
    return base | {
        "news": SimpleLazyObject(lambda: _news(picture, memberships)),
        "windows": SimpleLazyObject(lambda: _windows(picture)),
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
    news = shown_to(owner, now).order_by("starts_at").values(json=JSONObject(**{name: name for name in NEWS}))
    ahead = Maintenance.objects.filter(cancelled_at=None, ends_at__gt=now).order_by("starts_at")
    rows = Cluster.objects.annotate(
        active_jobs=Coalesce(Subquery(own), 0), is_guest=Exists(guest), news=ArraySubquery(news),
        ahead=ArraySubquery(ahead.values(json=JSONObject(**{name: name for name in WINDOW}))),
    )  # fmt: skip
    return rows.order_by("pk")[:1]


def _current(user: int, now: datetime) -> QuerySet[Membership]:
    rows = Membership.objects.active(now).filter(user=user).select_related("project").order_by("project__title")
    return rows.only("role", "project__code", "project__title", "project__partitions")


# every page asks both
PICTURE = Fixed(_with_active_jobs, kept=False)
CURRENT = Fixed(_current)


def _picture_for(user: Any) -> Any:
    """The cluster with `active_jobs`, how many of the person's own are not over, and whether they are a guest auditor:
    one query for every page."""
    return PICTURE.first(owner=user.pk, now=timezone.now())


def _news(picture: Any, memberships: Any) -> list[Announcement]:
    """The announcements that concern the person."""
    rows = [Announcement(**facts) for facts in picture.news] if picture else []
    projects = {line["code"] for line in memberships} if any(row.project_code for row in rows) else set()
    queues = {name for line in memberships for name in line["partitions"]} if any(r.partition for r in rows) else set()
    return [row for row in rows if concerns(row, projects, queues)]


def _windows(picture: Any) -> list[Maintenance]:
    """The maintenance windows ahead and under way, the first one first."""
    times = ("starts_at", "ends_at")
    rows = picture.ahead if picture else []
    return [Maintenance(**(facts | {name: parse_datetime(facts[name]) for name in times})) for facts in rows]


def _memberships(user: Any) -> list[dict[str, Any]]:
    return [
        {
            "code": row.project.code,
            "title": row.project.title,
            "partitions": row.project.partitions,
            "role": Role(row.role).label,
            "can_submit": Permission.JOB_SUBMIT in grants_of(row.role),
        }
        for row in CURRENT.all(user=user.pk, now=timezone.now())
    ]
