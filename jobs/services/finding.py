"""Jobs found by who asked, on what, when, and by any text that people gave them."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import reduce
from operator import or_
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from access import gate
from access.ids import first_at
from access.numbers import whole
from access.permissions import Permission
from accounts.models import User
from jobs.models import Job
from projects.models import Membership

SEVERAL = 12  # projects that a list names one by one
_SOUGHT = re.compile(r"[^\W_]")
_INDEXED = re.compile(r"[^\W_]{3}")  # what an index of groups of three letters can find anywhere in a text


def first_of(day: date) -> UUID:
    """Ids sort by time: the lowest of a day's, on the site's clock."""
    return first_at(timezone.make_aware(datetime.combine(day, datetime.min.time())).timestamp())


def after(day: date) -> UUID:
    """The lowest of the next day's; behind all of them where there is no next day."""
    return first_of(day + timedelta(days=1)) if day < date.max else UUID(int=2**128 - 1)


def is_sought(text: str) -> bool:
    """Whether a text holds a letter or a digit. An index knows no other sign: without one every job is looked at."""
    return _SOUGHT.search(text) is not None


def saying(text: str) -> Q:
    """In the name it was asked for by, the one people gave it since, or their note; a whole login is its person's, a
    whole number also Slurm's. Of fewer than three letters or digits in a row the beginning of a word counts: an index
    knows no more.
    """
    ways = [("icontains", text)]
    if not _INDEXED.search(text):
        ways = [("istartswith", text), *(("icontains", sign + text) for sign in " -_")]
    words = [Q(**{f"{name}__{how}": what}) for name in ("name", "alias", "note") for how, what in ways]
    found = reduce(or_, words, Q(owner_login=text))
    number = whole(text, digits=17)
    return found if number is None else found | Q(slurm_job_id=number)


def only_in(user: User) -> list[int] | None:
    """The projects outside of which the person sees no job; None: there are none such, or they are many.

    The gate decides. This is for PostgreSQL, which finds the few jobs of small projects among a million by their
    index only where it knows the projects while it plans.
    """
    if gate.site_can(user, Permission.JOB_VIEW):
        return None
    rows = Membership.objects.active().filter(user=user).order_by("project").values_list("project", flat=True)
    found = list(rows.distinct()[: SEVERAL + 1])
    return found if len(found) <= SEVERAL else None


def narrowed(
    rows: QuerySet[Job], *, owner: str = "", gpu_type: str = "", text: str = "", since: date | None = None,
    until: date | None = None,
) -> QuerySet[Job]:  # fmt: skip
    """By what is given; both days count as whole."""
    wanted = {
        "owner_login": owner, "gpu_type": gpu_type, "pk__gte": since and first_of(since),
        "pk__lt": until and after(until),
    }  # fmt: skip
    rows = rows.filter(**{name: value for name, value in wanted.items() if value})
    return rows.filter(saying(text)) if text else rows
