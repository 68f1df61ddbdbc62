"""What happens to projects by the clock: memberships whose time has passed lose what they brought."""

from __future__ import annotations

from celery import shared_task

from audit import context
from projects import services


@shared_task(name="default.close_expired")
def close_expired() -> None:
    """Close the memberships that are over."""
    with context.coming_from("task"):
        services.close_expired()
