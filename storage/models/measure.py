"""How much lay in a project's folder on a day: measured once a day, in all and by person."""

from __future__ import annotations

from django.db import models

from projects.models import Project


class Measure(models.Model):
    """One row a project, day (UTC) and uid; `uid` None: in all. `bytes` None: it could not be measured."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    uid = models.BigIntegerField(null=True)
    bytes = models.BigIntegerField(null=True)
    files = models.BigIntegerField(default=0)
    is_cut = models.BooleanField(default=False)  # there is more than one walk counts
    at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["project", "day", "uid"], name="one_measure_a_day", nulls_distinct=False),
        )

    def __str__(self) -> str:
        return f"{self.project_id} · {self.day} · {self.uid}"
