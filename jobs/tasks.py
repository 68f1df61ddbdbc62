"""Bells for the worker that may speak to Slurm: no arguments, "look again"; the rows say what to do."""

from celery import shared_task

from jobs.services import environments, file_tickets, growing, handing, intents, noticing, tickets
from jobs.services.afterwards import looking, tasks
from jobs.services.gpus import keeping


@shared_task(name="slurm.hand_over")
def hand_over() -> None:
    """Hand over what waits."""
    handing.hand_over()


@shared_task(name="slurm.carry_out")
def carry_out() -> None:
    """Carry out the intents whose time has come."""
    intents.carry_out()


@shared_task(name="slurm.renew_tickets")
def renew_tickets() -> None:
    """Sign anew what started again or expires soon."""
    tickets.renew()


@shared_task(name="slurm.sign_files")
def sign_files() -> None:
    """Sign the passes to files that somebody asked for."""
    file_tickets.sign_asked()


@shared_task(name="slurm.measure_storage")
def measure_storage() -> None:
    """How much lies in a project's folder, once a day each; one folder a bell, for jobs wait for the same worker."""
    growing.measure_one()


@shared_task(name="default.keep_gpu_summaries")
def keep_gpu_summaries() -> None:
    """What the GPUs of jobs that ended did, before the series are gone."""
    keeping.keep_summaries()


@shared_task(name="default.tell_notices")
def tell_notices() -> None:
    """What happened to jobs, told to their owners."""
    noticing.look_at_clock()
    noticing.tell()


@shared_task(name="slurm.look_back")
def look_back() -> None:
    """Look into the output of what ended."""
    looking.look_back()
    environments.settle()
    tickets.sign_tasks()
    tasks.look_at_tasks()
