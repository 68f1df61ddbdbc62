"""The jobs app."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Default settings of the app."""

    name = "jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """What the trail asks of jobs."""
        from jobs import evidence

        evidence.register()
