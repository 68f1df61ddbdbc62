"""`manage.py event_catalogue`: docs/audit-events.md, from the catalogue in code. With --check nothing is written."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.services.describing import page

PATH = "docs/audit-events.md"


class Command(BaseCommand):
    """The page is a copy of the catalogue; the catalogue is what counts."""

    help = "Write docs/audit-events.md from the catalogue of events."

    def add_arguments(self, parser: CommandParser) -> None:
        """A build asks only whether it is fresh."""
        parser.add_argument("--check", action="store_true", help="exit 1 where the page is not what it should be")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write it, or compare."""
        path = settings.BASE_DIR / PATH
        if not options["check"]:
            path.write_text(page())
        elif not path.exists() or path.read_text() != page():
            raise CommandError(f"{PATH} is stale: run `manage.py event_catalogue`")
