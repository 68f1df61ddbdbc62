"""One job as the gate lets a person through to it, in the shapes that pages and the API read: each written once."""

from __future__ import annotations

from access import gate
from jobs.models import Job

# with what a list shows of it
NAMED = gate.Listing(lambda pk: Job.objects.with_names().filter(pk=pk), most=1)
# all of its own, and its project
PLAIN = gate.Listing(lambda pk: Job.objects.filter(pk=pk).select_related("project"), most=1)
# the same without what is long
LIGHT = gate.Listing(
    lambda pk: Job.objects.filter(pk=pk).select_related("project").defer("script", "environment"), most=1
)
