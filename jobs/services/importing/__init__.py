"""sbatch scripts in and out: a script to the form's fields with findings, and the fields to a script again."""

from __future__ import annotations

from accounts.models import User
from jobs.services.asking import partitions_of
from jobs.services.importing.findings import Became, Finding, Imported
from jobs.services.importing.reading import Reader
from jobs.services.importing.replacing import Dictionary, Entry
from jobs.services.importing.scripts import head, to_script
from projects.models import Project

__all__ = ["Became", "Dictionary", "Entry", "Finding", "Imported", "head", "read_script", "to_script"]


def read_script(
    text: str, *, project: Project, by: User, dictionary: Dictionary | None = None, name: str = ""
) -> Imported:
    """What `by` would ask for in this project with this script; `name` is the file's. Never raises."""
    return Reader(project, partitions_of(project), by, dictionary or Dictionary(), name).read(text)
