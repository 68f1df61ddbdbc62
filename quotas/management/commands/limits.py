"""`manage.py limits`: whether Slurm's accounting is as the portal wants it, project by project. Exit 1 where not.

With --dry-run: what the next comparison would tell Slurm, what is over the cap, what it would only show.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from projects.models import Project
from quotas.services.rehearsing import rehearse

SOON = 0.2  # seconds between two looks


class Command(BaseCommand):
    """Reads our own rows only: the worker applies and compares."""

    help = "Say of each project whether Slurm's accounting is as the portal wants it."

    def add_arguments(self, parser: CommandParser) -> None:
        """Waiting is for scripts that have just changed something."""
        parser.add_argument("--dry-run", action="store_true", help="what the next comparison would do; exit 0")
        parser.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="until all is applied")

    def handle(self, *args: Any, **options: Any) -> None:
        """One line a project that is not as it should be, or a step."""
        if options["dry_run"]:
            self.stdout.write("\n".join(_steps()) or "nothing to do")
            return
        deadline = time.monotonic() + options["wait"]
        while found := list(_unwell(changes_only=bool(options["wait"]))):
            if time.monotonic() >= deadline:
                self.stdout.write("\n".join(found))
                raise CommandError(f"{len(found)} projects are not as wanted in Slurm")
            time.sleep(SOON)
        self.stdout.write(f"{Project.objects.count()} projects as wanted in Slurm")


def _unwell(*, changes_only: bool) -> Iterator[str]:
    """One line each; who waits for a change of their own does not wait for what another hand did."""
    for project in Project.objects.select_related("enforcement").order_by("code"):
        row = getattr(project, "enforcement", None)
        if row is None or row.change_applied < project.change:
            yield f"{project.code}: waiting{f' ({row.error})' if row and row.error else ''}"
        elif row.differences and not changes_only:
            yield f"{project.code}: {len(row.differences)} differences"


def _steps() -> Iterator[str]:
    """In Slurm's own names, for a shell."""
    for one in rehearse():
        cause = "portal" if one.is_ours else "by hand"
        for label, steps in (("told", one.steps), ("over the cap", one.waiting), ("shown only", one.shown)):
            for step in steps:
                about = " ".join(filter(None, (step["kind"], step["user"], step["partition"], step["qos"])))
                changes = ", ".join(f"{name}: {before} -> {after}" for name, before, after in step["changes"])
                yield f"{one.project.code} ({cause}) {label}: {about} {changes}".rstrip()
