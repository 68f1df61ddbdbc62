"""What was learnt of a job after its end, from its output and from what it wrote down at its start."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from jobs.models.job import Job


class Report(models.Model):
    """One a job, written by the worker; a row whose `read_at` is empty waits to be made. Due again after each end."""

    job = models.OneToOneField(Job, on_delete=models.PROTECT, primary_key=True, related_name="report")
    due_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)
    log_state = models.CharField(max_length=20, blank=True)  # what the log reader said of the output
    findings = models.JSONField(default=list)  # each {"key", "stream", "line", "offset", "text"}: jobs.failures
    traceback = models.JSONField(default=dict)  # {"stream", "line", "offset"} of the first one; {}: none
    notes = models.JSONField(default=dict)  # what the job wrote down at its start: jobs.notes

    class Meta:
        indexes = (models.Index(fields=["due_at"], name="report_due", condition=Q(read_at=None)),)

    def __str__(self) -> str:
        return str(self.job)
