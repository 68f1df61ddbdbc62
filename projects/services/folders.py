"""Whose folder a folder is: projects of two Unix groups share none, nor does one lie in the other's."""

from __future__ import annotations

from pathlib import PurePosixPath

from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import Q
from django.utils.translation import gettext as _

from projects.models import Project

_LOCK = 7303  # of the transaction that compares folders: two projects opened at once see each other


def check_folder(project: Project) -> None:
    """Raises ValidationError of the field `folder`. Within a transaction, which it makes the only one to compare.

    Whoever is in the other project's group would read what this one writes; with the same group they do anyway.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    folder = project.folder.rstrip("/")
    above = [str(parent) for parent in PurePosixPath(folder).parents]
    met = Project.objects.filter(Q(folder__in=[folder, *above]) | Q(folder__startswith=folder + "/"))
    other = met.exclude(pk=project.pk).exclude(unix_group=project.unix_group).order_by("code").first()
    if other is not None:
        raise ValidationError({"folder": _clash(other)})


def _clash(other: Project) -> str:
    return _("The project %(code)s (Unix group %(group)s) has the folder %(folder)s: take one beside it.") % {
        "code": other.code, "group": other.unix_group, "folder": other.folder,
    }  # fmt: skip
