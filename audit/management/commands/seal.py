"""`manage.py seal`: the sealer. Seals every second, signs every minute (or half), sends checkpoints off the host."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, close_old_connections, connection

from audit.services import effective
from audit.services.exports.signing import sign_waiting
from audit.services.keys import NoKey, load
from audit.services.leaving import Leaving
from audit.services.pseudonyms import carry_out
from audit.services.removing import remove_due
from audit.services.sealing import LOCK, Sealer

log = structlog.get_logger(__name__)
SECOND, MINUTE, DAY = 1.0, 60.0, 86_400.0
SOON = 30.0  # after the last signature, where there is something new: nothing waits a minute


class Command(BaseCommand):
    """One of them at a time; a second one waits for the first to end."""

    help = "Seal the audit trail in order and sign checkpoints with the sealer's key."

    def add_arguments(self, parser: CommandParser) -> None:
        """Once is for tests and for scripts."""
        parser.add_argument("--once", action="store_true", help="seal, sign once, and end")

    def handle(self, *args: Any, **options: Any) -> None:
        """Until told to stop."""
        try:
            key = load(Path(settings.SEAL_KEY))
        except NoKey as error:
            raise CommandError(f"no key to seal with: {error}") from None
        stop, leaving = threading.Event(), Leaving()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        while not stop.is_set():
            try:
                self._run(key, leaving, stop, once=options["once"])
            except DatabaseError as error:
                log.warning("nothing sealed for a moment", why=str(error))
                close_old_connections()
                stop.wait(SECOND)
            if options["once"]:
                return

    def _run(self, key: Any, leaving: Leaving, stop: threading.Event, *, once: bool) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        leaving.resume()
        effective.note(effective.SEALER, effective.of_sealer(key))
        sealer, signed_at, signed, removal = Sealer.where_it_stands(), -MINUTE, 0, 0.0
        while True:
            sealer.seal()
            sign_waiting(key)
            if time.monotonic() >= signed_at + (SOON if sealer.seq > signed else MINUTE):
                carry_out()
                leaving.send(sealer.checkpoint(key))
                signed_at, signed = time.monotonic(), sealer.seq
            if time.monotonic() >= removal:
                remove_due(sealer=sealer, key=key, told=leaving.send)
                removal = time.monotonic() + DAY
            if once or stop.wait(SECOND):
                return
