"""What changes a job. Doors use these names; the worker and the follower import their own modules."""

from jobs.services.asking import AlreadyOver, KeyReused, NotNow, cancel, prepare, submit
from jobs.services.batches import prepare_all, submit_all
from jobs.services.pace import TooFast

__all__ = [
    "AlreadyOver", "KeyReused", "NotNow", "TooFast", "cancel", "prepare", "prepare_all", "submit", "submit_all",
]  # fmt: skip
