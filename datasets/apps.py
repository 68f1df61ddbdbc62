"""The Django app."""

from django.apps import AppConfig


class DatasetsConfig(AppConfig):
    """What data there is, who may use it for what, and who did."""

    name = "datasets"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """What the trail asks of datasets."""
        from datasets import evidence

        evidence.register()
