"""`manage.py export_trail`: the sealed trail as JSON lines on standard output, for bancada-verify and an archive."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit import context, trail
from audit.actions import Action
from audit.services import exporting


class Command(BaseCommand):
    """Up to the last checkpoint; the export is an event itself."""

    help = "Write the sealed audit trail as JSON lines to standard output."

    def add_arguments(self, parser: CommandParser) -> None:
        """An archive is continued after the record it ends with."""
        parser.add_argument("--after", type=int, default=0, metavar="SEQ", help="continue after this record")
        parser.add_argument("--action", default="", help="only events of this action are written out whole")

    def handle(self, *args: Any, **options: Any) -> None:
        """Lines as they come."""
        wanted = exporting.Wanted(action=options["action"])
        with context.coming_from("command"):
            trail.record(Action.TRAIL_EXPORTED, after=options["after"], filter={"action": options["action"]})
        try:
            for block in exporting.export(wanted, after=options["after"]):
                sys.stdout.buffer.write(block)
        except exporting.NothingSealed:
            raise CommandError("nothing is sealed yet") from None
