"""`manage.py person_report LOGIN`: what is held on a person, as JSON, or as a page to print."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.template.loader import render_to_string

from audit import context, things
from audit.services import reporting


class Command(BaseCommand):
    """Reads only; that it was looked up is an event."""

    help = "Say what the portal holds on a person (LGPD, art. 18)."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whom, and in which form."""
        parser.add_argument("login")
        parser.add_argument("--html", action="store_true", help="a page to print instead of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """To standard output."""
        person = things.find("person", options["login"])
        if person is None:
            raise CommandError(f"the portal has nobody of the login {options['login']}")
        form = "html" if options["html"] else "json"
        with context.coming_from("command"):
            report = reporting.of(person, by=None, form=form)
        if options["html"]:
            self.stdout.write(render_to_string("audit/person_print.html", {"person": person, "report": report}))
        else:
            self.stdout.write(json.dumps(reporting.plain(report), ensure_ascii=False, indent=2))
