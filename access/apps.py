"""The access app."""

from django.apps import AppConfig


class AccessConfig(AppConfig):
    """Holds the gate and its template tag; no models of its own."""

    name = "access"
