"""What the worker does for the trail: verifications and exports asked for, seals by mail, what it runs with."""

from __future__ import annotations

from celery import shared_task

from audit import context
from audit.services import effective, verifying
from audit.services.exports import making, telling


@shared_task(name="default.verify_trail")
def verify_trail() -> None:
    """One part of the verification that waits."""
    with context.coming_from("task"):
        verifying.work()


@shared_task(name="default.make_exports")
def make_exports() -> None:
    """Go on with exports that are open, tell who asked for those that ended, delete those whose time is over."""
    with context.coming_from("task"):
        making.work()
        telling.tell()
        making.sweep()


@shared_task(name="default.mail_checkpoints")
def mail_checkpoints() -> None:
    """The day's checkpoints to the data protection officer, once a day."""
    with context.coming_from("task"):
        telling.mail_checkpoints()


@shared_task(name="default.note_trail_settings")
def note_trail_settings() -> None:
    """What the worker's part of the trail runs with, where it changed."""
    with context.coming_from("task"):
        effective.note(effective.WORKER, effective.of_worker())
