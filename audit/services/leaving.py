"""Checkpoints on their way off the host: what a place outside has is written down, so that a restart loses none."""

from __future__ import annotations

import json
from collections import deque

import structlog
from django.conf import settings

from audit.models import Checkpoint, Outbox
from audit.services import outside
from audit.services.sealing import told

log = structlog.get_logger(__name__)
MOST = 10_000  # of those that wait for one place: a week


class Leaving:
    """What waits for each place, in order; of the process that seals, for as long as it runs.

    It is kept in memory, so that who changes the database under it takes none back; what had not left when a process
    ended its next one reads again. A place first set up begins with the next checkpoint; one that was switched off for
    a while gets what it missed.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, deque[tuple[int, str]]] = {}

    def resume(self) -> None:
        """Before the first checkpoint of this process; a second time does nothing."""
        for name in outside.PLACES:
            if name not in self.waiting and _is_set_up(name):
                self.waiting[name] = deque(_left_behind(name), maxlen=MOST)

    def send(self, checkpoint: Checkpoint) -> None:
        """To every place that is set up. What does not go is said, kept, and sent first the next time, in order."""
        line = json.dumps(told(checkpoint))
        for name, waiting in self.waiting.items():
            waiting.append((checkpoint.pk, line))
            try:
                outside.PLACES[name][1]([said for _number, said in waiting])
            except OSError as error:
                log.error("checkpoints did not leave the host", by=name, why=str(error), waiting=len(waiting))
                continue
            waiting.clear()
            Outbox.objects.filter(place=name).update(checkpoint=checkpoint.pk)


def _is_set_up(name: str) -> bool:
    return bool(getattr(settings, outside.PLACES[name][0]))


def _left_behind(name: str) -> list[tuple[int, str]]:
    """Oldest first: those after the last that the place is known to have."""
    last = Checkpoint.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    row, _new = Outbox.objects.get_or_create(place=name, defaults={"checkpoint": last})
    rows = Checkpoint.objects.filter(pk__gt=row.checkpoint).order_by("-pk")[:MOST]
    return [(one.pk, json.dumps(told(one))) for one in reversed(rows)]
