"""What jobs answer to an auditor: which job a number means, and what is held on a person."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count, Max, Min, QuerySet, TextField, Value
from django.db.models.functions import Cast
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.models import User
from audit import persons, things
from audit.persons import Section
from audit.services import unseen
from cluster.models import Cluster
from jobs.models import Job


def register() -> None:
    """Called once, when the app is there."""
    things.register("job", of_number)
    persons.register("jobs", tell=told, hinder=hindrances)
    unseen.register(left)


def left(late: datetime) -> QuerySet[Cluster, tuple[str, None]]:
    """Clusters whose jobs nobody looked at since `late`; of one that is new nobody can have missed anything."""
    none, seen = Value(None, TextField()), Cast("jobs_seen_at", TextField())
    return Cluster.objects.filter(jobs_seen_at__lt=late).values_list(seen, none)


def of_number(number: str) -> QuerySet[Job]:
    """The jobs that have, or had, this number in Slurm."""
    known = number.isdigit() and len(number) < 12
    rows = Job.objects.filter(cluster__in=Cluster.objects.values("pk"), slurm_job_id=int(number) if known else None)
    return rows.only("pk") if known else rows.none()


def hindrances(person: User) -> Iterator[str | Promise]:
    """Whoever has work in the queue is somebody to Slurm."""
    count = Job.objects.filter(owner=person).open().count()
    if count:
        yield ngettext("has %(n)d job that is not over", "has %(n)d jobs that are not over", count) % {"n": count}


def told(person: User) -> Iterator[Section]:
    """How many jobs, by project; the login stays with them, as it does in Slurm's accounting."""
    rows = Job.objects.filter(owner=person).order_by("project__code").values_list("project__code")
    counted = rows.annotate(n=Count("pk"), first=Min("created_at"), last=Max("created_at"))
    yield Section(
        _("Jobs"), "jobs_job, quotas_usage", _("to show what the institution's computers were used for; scripts "
        "and logins stay with them and in Slurm's accounting"),
        (_("project"), _("jobs"), _("first"), _("last")), tuple(counted),
    )  # fmt: skip
