"""The root app: start-up checks and commands."""

from django.apps import AppConfig


class PortalConfig(AppConfig):
    """Registers the start-up checks."""

    name = "portal"

    def ready(self) -> None:
        """Make the checks known."""
        from portal import checks  # noqa: F401
