"""A bell: look at what time has done to permissions and agreements."""

from celery import shared_task

from datasets.services import warning


@shared_task(name="default.warn_datasets")
def warn_datasets() -> None:
    """Tell of permissions to use that end soon; close what is over."""
    warning.look()
