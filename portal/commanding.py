"""A command in a shell leaves a line in the trail, as an act on a page does; it is written before the command runs."""

from __future__ import annotations

import getpass
import sys
from typing import Any

from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand
from django.db import DatabaseError, transaction

# why these leave no line of their own; every other command does, whoever wrote it
ELSEWHERE = {
    "seal": "a process; what it does alone it tells itself",
    "follow_slurm": "a process; what it sees it tells itself",
    "runserver": "a process; what comes in by it is told as of any server",
    "runworker": "a process; what it does is told as of any worker",
    "doctor": "reads the state of the machinery, also where the database is down",
    "limits": "reads which projects differ in Slurm, nobody's data",
    "event_catalogue": "writes a document from the code",
    "help": "says what there is",
    "version": "says what this is",
    **dict.fromkeys(("check", "diffsettings", "showmigrations", "sqlmigrate", "sqlflush", "sqlsequencereset",
                     "inspectdb"), "says how the machinery is set up, nobody's data"),
    **dict.fromkeys(("collectstatic", "findstatic", "compilemessages", "makemessages"), "works on files of the code"),
    **dict.fromkeys(("makemigrations", "optimizemigration", "squashmigrations", "startapp", "startproject", "test",
                     "testserver"), "for who writes the code"),
}  # fmt: skip
# they may run before there is a trail, or change its table: then the line is written when they are through
MAKE_THE_TRAIL = {"migrate", "setup_roles"}
# their first word is a person
WITH_LOGIN = {"issue_token", "person_report", "pseudonymise", "changepassword", "axes_reset_username"}
# what follows them may be a secret, or names people
HIDDEN = {"shell", "dbshell", "createsuperuser", "sendtestemail", "axes_reset_ip", "axes_reset_ip_username"}
_HIDDEN = "…"


class Utility(ManagementUtility):
    """Django's own, which writes down what is run."""

    is_owed = False

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """The command; recorded but where there is a reason not to."""
        command = super().fetch_command(subcommand)
        if subcommand not in ELSEWHERE and self.argv[1:2] == [subcommand] and "--help" not in self.argv:
            self._write_down(subcommand)
        return command

    def execute(self) -> None:
        """Run it; what could not be written down before is now."""
        super().execute()
        if self.is_owed:
            record(self.argv[1], self.argv[2:])

    def _write_down(self, name: str) -> None:
        """Before it runs, but where there may be no trail yet."""
        try:
            record(name, self.argv[2:])
        except DatabaseError:
            if name not in MAKE_THE_TRAIL:
                raise
            self.is_owed = True


def record(name: str, arguments: list[str]) -> None:
    """Who (by the system's word, the database role stands in the row), which command, with which arguments."""
    import django

    django.setup()
    from audit import context, trail
    from audit.actions import Action

    with context.coming_from("command"), transaction.atomic():
        trail.record(
            Action.COMMAND_RUN,
            command=name,
            arguments=[trail.Login(one) if login else one for one, login in _plain(name, arguments)],
            system_user=trail.Login(_who()),
        )


def _plain(name: str, arguments: list[str]) -> list[tuple[str, bool]]:
    """(argument, whether it is a login). What is typed into a shell with -c may hold anything: its length is kept."""
    said = [_hidden(one) if name in HIDDEN else one for one in arguments]
    words = [place for place, one in enumerate(arguments) if not one.startswith("-")]
    first = words[0] if words and name in WITH_LOGIN else -1
    return [(one, place == first) for place, one in enumerate(said)]


def _hidden(argument: str) -> str:
    """The name of an option, and how long what stands behind it is."""
    option, sign, value = argument.partition("=") if argument.startswith("-") else ("", "", argument)
    return f"{option}{sign}{_HIDDEN} ({len(value)})" if value else option


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def main(argv: list[str] | None = None) -> Any:
    """`manage.py`."""
    Utility(argv or sys.argv).execute()
