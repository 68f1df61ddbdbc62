"""What people do with jobs: asked for by doors, carried out in Slurm by the worker, recorded with before and after."""

from jobs.services.acts.asking import NotPossible, ask, rights_of
from jobs.services.acts.labels import MOST_NOTE, archive, label, star, starred
from jobs.services.acts.many import AT_MOST, Outcome, carry, preview

__all__ = [
    "AT_MOST", "MOST_NOTE", "NotPossible", "Outcome", "archive", "ask", "carry", "label", "preview", "rights_of",
    "star", "starred",
]  # fmt: skip
