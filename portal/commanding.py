"""A command in a shell leaves a line in the trail, as an act on a page does; it is written before the command runs."""

from __future__ import annotations

import getpass
import sys
from typing import Any

from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand

# what changes something or lets somebody look at everything; servers and reports only do what is recorded elsewhere
RECORDED = {
    "shell",
    "dbshell",
    "issue_token",
    "export_trail",
    "loaddata",
    "dumpdata",
    "clearsessions",
    "axes_reset",
    "person_report",
    "pseudonymise",
    "check_grants",
    "seed_demo",
    "deliver_presets",
}
WITH_LOGIN = {"issue_token", "person_report", "pseudonymise"}  # their first word is a person
# why these leave no line of their own
ELSEWHERE = {
    "seal": "a process; what it does alone it tells itself",
    "follow_slurm": "a process; what it sees it tells itself",
    "setup_roles": "may run before there is a trail; it tells where the rights of roles changed",
    "doctor": "reads the state of the machinery, also where the database is down",
    "limits": "reads which projects differ in Slurm, nobody's data",
    "event_catalogue": "writes a document from the code",
}
_HIDDEN = "…"


class Utility(ManagementUtility):
    """Django's own, which writes down what is run."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """The command; recorded where it is one of those."""
        command = super().fetch_command(subcommand)
        if subcommand in RECORDED and self.argv[1:2] == [subcommand] and "--help" not in self.argv:
            record(subcommand, self.argv[2:])
        return command


def record(name: str, arguments: list[str]) -> None:
    """Who (by the system's word, the database role stands in the row), which command, with which arguments."""
    import django

    django.setup()
    from audit import context, trail
    from audit.actions import Action

    with context.coming_from("command"):
        trail.record(
            Action.COMMAND_RUN,
            command=name,
            arguments=[trail.Login(one) if login else one for one, login in _plain(name, arguments)],
            system_user=trail.Login(_who()),
        )


def _plain(name: str, arguments: list[str]) -> list[tuple[str, bool]]:
    """(argument, whether it is a login). What is typed into a shell with -c may hold anything: its length is kept."""
    hidden = {"shell", "dbshell"}
    said = [f"{_HIDDEN} ({len(one)})" if name in hidden and not one.startswith("-") else one for one in arguments]
    words = [place for place, one in enumerate(arguments) if not one.startswith("-")]
    first = words[0] if words and name in WITH_LOGIN else -1
    return [(one, place == first) for place, one in enumerate(said)]


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def main(argv: list[str] | None = None) -> Any:
    """`manage.py`."""
    Utility(argv or sys.argv).execute()
