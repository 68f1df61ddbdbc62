"""`manage.py pseudonymise LOGIN --why WORDS`: a pseudonym for a person; the sealer does the part of the trail."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit import context, things
from audit.services import pseudonyms


class Command(BaseCommand):
    """Asks for the login once more where somebody sits there."""

    help = "Replace a person's data by a pseudonym (LGPD, art. 16 and 18). It cannot be undone."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whom, and why."""
        parser.add_argument("login")
        parser.add_argument("--why", required=True, help="kept in the audit trail")
        parser.add_argument("--yes", action="store_true", help="for scripts: do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        """The account at once; names beside the trail BANCADA_PSEUDONYM_AFTER_HOURS later."""
        person = things.find("person", options["login"])
        if person is None:
            raise CommandError(f"the portal has nobody of the login {options['login']}")
        if not options["yes"] and input("Type the login again: ") != options["login"]:
            raise CommandError("nothing was done")
        try:
            with context.coming_from("command"):
                row = pseudonyms.ask(person=person, by=None, why=options["why"])
        except pseudonyms.Hindered as error:
            raise CommandError(f"not now: this person {error}") from None
        except pseudonyms.Done:
            raise CommandError("this person has a pseudonym already") from None
        self.stdout.write(row.pseudonym)
