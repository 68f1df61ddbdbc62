"""How fast one person may submit, by page or API: counted in the rows themselves, so the same for every process."""

from __future__ import annotations

import math
import time

from django.conf import settings
from django.utils.translation import gettext as _

from access.ids import first_at
from accounts.models import User
from jobs.models import Job

WINDOW = 60.0  # seconds


class TooFast(Exception):
    """The person submitted as much as one may in a minute; `wait` is in seconds. Nobody else has to wait for it."""

    def __init__(self, most: int, wait: float) -> None:
        super().__init__(f"{most} jobs a minute")
        self.most, self.wait = most, wait

    @property
    def seconds(self) -> int:
        """The wait in whole seconds."""
        return max(1, math.ceil(self.wait))

    @property
    def words(self) -> str:
        """What the person is told."""
        return _("At most %(n)d jobs a minute; try again in %(s)d s.") % {"n": self.most, "s": self.seconds}


def check(*, by: User) -> None:
    """Raise TooFast where the last minute's submissions are too many; a setting of 0 means no limit."""
    most, now = settings.SUBMISSIONS_PER_MINUTE, time.time()
    if most <= 0:
        return
    recent = Job.objects.filter(owner=by, pk__gte=first_at(now - WINDOW)).order_by("-pk")
    nth = recent.values_list("created_at", flat=True)[most - 1 : most].first()
    if nth is not None:
        raise TooFast(most, max(0.0, nth.timestamp() + WINDOW - now))
