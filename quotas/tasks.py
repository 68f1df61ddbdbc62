"""Bells: for the worker that speaks to Slurm, to apply and compare; for the other, to warn of what runs out."""

from celery import shared_task

from quotas.services import applying, reconciling, warning


@shared_task(name="slurm.apply_limits")
def apply_limits() -> None:
    """Apply the changes that were asked for."""
    applying.apply()


@shared_task(name="slurm.reconcile")
def reconcile() -> None:
    """Compare all projects with what Slurm has."""
    reconciling.reconcile()


@shared_task(name="default.warn_allocations")
def warn_allocations() -> None:
    """Tell who can act of allocations that are almost used up."""
    warning.warn()
