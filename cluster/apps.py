"""The cluster app."""

from django.apps import AppConfig


class ClusterConfig(AppConfig):
    """Default settings of the app."""

    name = "cluster"
    default_auto_field = "django.db.models.BigAutoField"
