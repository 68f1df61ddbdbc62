"""The quotas app."""

from django.apps import AppConfig


class QuotasConfig(AppConfig):
    """Default settings of the app."""

    name = "quotas"
    default_auto_field = "django.db.models.BigAutoField"
