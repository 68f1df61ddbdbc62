"""The projects app."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    """Default settings of the app."""

    name = "projects"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """What the trail asks of projects."""
        from projects import evidence

        evidence.register()
