"""`manage.py follow_slurm`: the one follower of the cluster; a second one waits for the advisory lock."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

from django.core.management.base import BaseCommand
from django.db import OperationalError, connection

from jobs.services import loop

LOCK = 0x62616E63  # "banc": one follower a database


class Command(BaseCommand):
    """Runs until SIGTERM."""

    help = "Follow Slurm: read the cluster for everybody and write what was seen."

    def handle(self, *args: Any, **options: Any) -> None:
        """Take the lock, then follow."""
        ended = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ended.set())
        while not ended.is_set() and not self._locked():
            ended.wait(2)
        loop.run(lambda: ended.is_set() or not self._still_locked(), ended.wait)

    def _locked(self) -> bool:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
                return bool(cursor.fetchone()[0])
        except OperationalError:
            connection.close()
            time.sleep(1)
            return False

    def _still_locked(self) -> bool:
        """The lock belongs to the connection: a new one must take it again."""
        return self._locked()
