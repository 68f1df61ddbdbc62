"""The Django app."""

from django.apps import AppConfig


class PresetsConfig(AppConfig):
    """Ready-made requests, and the software the site has validated for them."""

    name = "presets"
    default_auto_field = "django.db.models.BigAutoField"
