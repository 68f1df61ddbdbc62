"""What happens of itself: people compared with the directory, last acts written down, what is over forgotten."""

from __future__ import annotations

from celery import shared_task

from accounts import activity
from accounts.directory import sync
from accounts.forgetting import forget_ended
from audit import context


@shared_task(name="default.sync_directory")
def sync_directory() -> None:
    """Compare everybody who is open with the directory."""
    with context.coming_from("task"):
        sync.run()


@shared_task(name="default.note_sessions")
def note_sessions() -> None:
    """Write the last acts of sessions to their rows."""
    activity.flush()


@shared_task(name="default.forget_sessions")
def forget_sessions() -> None:
    """Delete sessions that are over and old traces of sign-ins."""
    with context.coming_from("task"):
        forget_ended()
