"""Bells for the worker that may speak to Slurm: bring its accounting up to date, and compare."""

from celery import shared_task

from quotas.services import applying, reconciling


@shared_task(name="slurm.apply_limits")
def apply_limits() -> None:
    """Apply the changes that were asked for."""
    applying.apply()


@shared_task(name="slurm.reconcile")
def reconcile() -> None:
    """Compare all projects with what Slurm has."""
    reconciling.reconcile()
