"""the root: settings, urls, processes; knows every app."""

from portal.celery import app as celery_app

__all__ = ["celery_app"]
