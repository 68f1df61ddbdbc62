"""`manage.py deliver_presets`: bring in the presets that come with this release of the portal."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from presets import delivering


class Command(BaseCommand):
    """Repeatable: what is there already stays; a changed file is another version."""

    help = "Bring in the presets that come with the portal."

    def handle(self, *args: Any, **options: Any) -> None:
        """One line."""
        found = delivering.read()
        self.stdout.write(f"{len(found)} presets, {delivering.deliver(found)} of them new or changed")
