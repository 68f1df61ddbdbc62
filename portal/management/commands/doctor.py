"""`manage.py doctor`: what is wrong and what to do; `--user NAME`: why that person would be refused."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from portal.doctor.finding import Finding, State
from portal.doctor.person import explain
from portal.doctor.report import report


class Command(BaseCommand):
    """Reads only. Exit status 1 where something is not ok."""

    help = "Check everything the portal leans on, or explain what one person would meet."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """What to look at, and how to say it."""
        parser.add_argument("--user", help="a login: why would they be refused, or not be able to submit?")
        parser.add_argument("--json", action="store_true", help="for scripts")
        parser.add_argument("--every", action="store_true", help="also what belongs to other processes than this one")

    def handle(self, *args: Any, **options: Any) -> None:
        """One line a finding, and what to do below it."""
        findings = explain(options["user"]) if options["user"] else report(every=options["every"])
        if options["json"]:
            self.stdout.write(json.dumps([dataclasses.asdict(one) for one in findings], indent=2, ensure_ascii=False))
        else:
            self._tell(findings)
        if any(one.state is State.TROUBLE for one in findings):
            sys.exit(1)

    def _tell(self, findings: list[Finding]) -> None:
        for one in findings:
            for line in one.lines():
                self.stdout.write(line)
        wrong = sum(one.state is State.TROUBLE for one in findings)
        self.stdout.write("all is well" if not wrong else f"{wrong} to look at")
