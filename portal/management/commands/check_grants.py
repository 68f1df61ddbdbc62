"""`manage.py check_grants`: proves that django-guardian's grants and the memberships agree."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from projects.models import Project
from projects.services import expected_grants, held_grants


class Command(BaseCommand):
    """Reads only."""

    help = "Compare grants with memberships; exit 1 where they differ."

    def handle(self, *args: Any, **options: Any) -> None:
        """One line a difference."""
        wrong = 0
        for project in Project.objects.all():
            expected, held = expected_grants(project), held_grants(project)
            for user_id, name in sorted(expected ^ held):
                wrong += 1
                missing = (user_id, name) in expected
                self.stdout.write(
                    f"{project.code}: user {user_id}: {name} {'is missing' if missing else 'should not be'}"
                )
        if wrong:
            raise CommandError(f"{wrong} differences")
        self.stdout.write("grants and memberships agree")
