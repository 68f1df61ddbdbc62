"""`manage.py seed_demo`: the demo's projects, their allocations and members, as the stack's table of the demo says."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import environ
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from access.roles import SiteRole
from accounts.lookup import directory_entry
from accounts.models import User
from accounts.services.people import remember
from datasets.models import Dataset
from datasets.services import asking, registering, terms, versions
from projects import services as projects
from projects.models import Project
from quotas import services as quotas


class Command(BaseCommand):
    """Repeatable: what is there stays as it is."""

    help = "Fill the portal with the demo's projects and people; needs the demo directory."

    def add_arguments(self, parser: CommandParser) -> None:
        """The table may come from elsewhere."""
        parser.add_argument("--file", default=environ.Env().str("BANCADA_DEMO_FILE", default=""))

    def handle(self, *args: Any, **options: Any) -> None:
        """Projects, then people, then who is in what."""
        if not options["file"]:
            raise CommandError("say where the demo's table is: --file, or BANCADA_DEMO_FILE")
        table = json.loads(Path(options["file"]).read_text())
        for row in table["projects"]:
            _project(row)
        for row in table["people"]:
            _person(row)
        for row in table.get("datasets", []):
            _dataset(row)
        self.stdout.write(f"{len(table['projects'])} projects, {len(table['people'])} people")


def _project(row: dict[str, Any]) -> None:
    if Project.objects.filter(code=row["code"]).exists():
        return
    project = projects.open_project(
        by=None, code=row["code"], title=row["title"], organization="Bancada Demo", slurm_account=row["account"],
        unix_group=row["unix_group"], folder=row["folder"], partitions=row["partitions"],
    )  # fmt: skip
    year = timezone.localdate().year
    quotas.create_allocation(
        project=project, by=None, code="main", title=str(year), qos=row["qos"], starts_on=date(year, 1, 1),
        ends_on=date(year + 1, 1, 31), gpus_at_once=8, gpu_minutes=2000 * 60, is_default=True,
    )  # fmt: skip


def _person(row: dict[str, Any]) -> None:
    entry = directory_entry(row["user"])
    if entry is None:
        raise CommandError(f"the directory does not know {row['user']}")
    user = User.objects.filter(directory_id=entry.directory_id).first()
    if user is None:
        user = remember(entry=entry, site_role=SiteRole(row["site_role"]))
    for code, role in row["projects"].items():
        project = Project.objects.get(code=code)
        if not project.memberships.filter(user=user).exists():
            projects.add_member(project=project, user=user, role=role, by=None, why="demo")


def _dataset(row: dict[str, Any]) -> None:
    """Registered, approved, asked for by another project and given by its steward."""
    if Dataset.objects.filter(code=row["code"]).exists():
        return
    home, reader = (Project.objects.get(code=row[name]) for name in ("project", "reader"))
    steward, asker = (User.objects.get(username=row[name]) for name in ("steward", "asker"))
    dataset = registering.register(project=home, steward=steward, by=None, code=row["code"], **row["facts"])
    versions.add(dataset=dataset, label="v1", path=row["path"], by=steward, note="demo")
    terms.put_in_force(dataset=dataset, text=row["terms"], by=steward)
    registering.approve(dataset=dataset, by=steward)
    today = timezone.now().date()
    wish = asking.ask(
        dataset=dataset, by=asker, project=reader, purpose="research", starts_on=today,
        ends_on=today + timedelta(days=180), why=row["why"],
    )  # fmt: skip
    asking.approve(request=wish, by=steward, answer="demo")
