"""A command in a shell leaves a line in the trail, as an act on a page does; it is written before the command runs."""

from __future__ import annotations

import getpass
import sys
from typing import Any

from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand

# what changes something or lets somebody look at everything; servers and reports only do what is recorded elsewhere
RECORDED = {"shell", "dbshell", "issue_token", "export_trail", "loaddata", "dumpdata", "clearsessions", "axes_reset"}
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
            Action.COMMAND_RUN, command=name, arguments=_plain(name, arguments), system_user=trail.Login(_who())
        )


def _plain(name: str, arguments: list[str]) -> list[str]:
    """What is typed into a shell with -c may hold anything: only its length is kept."""
    hidden = {"shell", "dbshell"}
    return [f"{_HIDDEN} ({len(one)})" if name in hidden and not one.startswith("-") else one for one in arguments]


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def main(argv: list[str] | None = None) -> Any:
    """`manage.py`."""
    Utility(argv or sys.argv).execute()
