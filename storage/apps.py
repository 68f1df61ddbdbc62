"""The Django app."""

from django.apps import AppConfig


class StorageConfig(AppConfig):
    """A project's files: who may look into, take from and change them."""

    name = "storage"
    default_auto_field = "django.db.models.BigAutoField"
