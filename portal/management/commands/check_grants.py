"""`manage.py check_grants`: proves that django-guardian's grants agree with memberships and parts in datasets."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from datasets.models import Dataset
from datasets.services import rights
from projects.models import Project
from projects.services import expected_grants, held_grants

Pairs = set[tuple[int, str]]  # (user id, codename)


class Command(BaseCommand):
    """Reads only."""

    help = "Compare grants with memberships; exit 1 where they differ."

    def handle(self, *args: Any, **options: Any) -> None:
        """One line a difference."""
        wrong = 0
        for project in Project.objects.all():
            wrong += self._compare(project.code, expected_grants(project), held_grants(project))
        for dataset in Dataset.objects.all():
            wrong += self._compare(f"dataset {dataset.code}", rights.expected(dataset), rights.held(dataset))
        if wrong:
            raise CommandError(f"{wrong} differences")
        self.stdout.write("grants agree with memberships and with parts in datasets")

    def _compare(self, where: str, expected: Pairs, held: Pairs) -> int:
        for user_id, name in sorted(expected ^ held):
            is_missing = (user_id, name) in expected
            self.stdout.write(f"{where}: user {user_id}: {name} {'is missing' if is_missing else 'should not be'}")
        return len(expected ^ held)
