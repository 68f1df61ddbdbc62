"""The jobs a job waits for: whether the asker may name them, and what Slurm is told of them when it is handed over."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext as _

from access import gate
from access.permissions import Permission
from accounts.models import User
from jobs.models import Job
from jobs.options import Options
from jobs.specs import BadSpec


def check(options: Options, *, by: User) -> None:
    """Raises BadSpec: a job the asker may not see is answered as one that is not there."""
    wanted = {UUID(one.job) for one in options.after}
    if not wanted:
        return
    seen = gate.allowing(Job.objects.filter(pk__in=wanted), by, Permission.JOB_VIEW)
    missing = wanted - set(seen.values_list("pk", flat=True))
    if missing:
        said = _("There is no job %(ids)s.")
        raise BadSpec({"after": [said % {"ids": ", ".join(sorted(map(str, missing)))}]})
