"""The audit app."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """Default settings of the app."""

    name = "audit"
    default_auto_field = "django.db.models.BigAutoField"
