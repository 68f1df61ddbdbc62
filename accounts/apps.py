"""The accounts app."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Default settings of the app."""

    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """What the trail asks of people."""
        from accounts import evidence

        evidence.register()
