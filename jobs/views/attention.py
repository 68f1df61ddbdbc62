"""What waits for a cluster administrator, as the part of home that htmx fetches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import timedelta

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from accounts.http import SignedInRequest
from audit.actions import Action
from audit.models import AuditEvent
from jobs import projects as rows_of
from projects.models import ProjectRequest, RequestState
from projects.views.opening import operator
from quotas.differing import troubled
from quotas.models import AllocationRequest

RECENT = timedelta(days=1)


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One thing to look at, with where to look."""

    icon: str
    css: str
    words: str
    where: str


@login_required
@require_GET
def attention(request: SignedInRequest) -> HttpResponse:
    """Requests to decide, projects that do not work all the way, and alarms; nothing where there is none."""
    operator(request)
    entries = list(_entries())
    return render(request, "operate/_attention.html", {"entries": entries}) if entries else HttpResponse(status=204)


def _entries() -> Iterator[Entry]:
    alarms = AuditEvent.objects.filter(action=Action.DIRECTORY_ALARM, at__gte=timezone.now() - RECENT)
    if alarms.exists():
        words = _("The institutional directory misses many people: nobody was closed for it.")
        yield Entry("warn", "bad", words, f"{reverse('audit:list')}?action={Action.DIRECTORY_ALARM.value}")
    asked = sum(rows.objects.filter(state=RequestState.OPEN).count() for rows in (ProjectRequest, AllocationRequest))
    if asked:
        words = ngettext("%(n)d request waits for a decision.", "%(n)d requests wait for a decision.", asked)
        yield Entry("people", "accent", words % {"n": asked}, reverse("operate:requests"))
    differ = troubled().count()
    if differ:
        words = ngettext("%(n)d project is not in Slurm as the portal says.",
                         "%(n)d projects are not in Slurm as the portal says.", differ)  # fmt: skip
        yield Entry("warn", "warn", words % {"n": differ}, reverse("operate:differences"))
    absent = rows_of.with_something_absent().count()
    if absent:
        words = ngettext("Something of %(n)d project is absent.", "Something of %(n)d projects is absent.", absent)
        yield Entry("s-bad", "warn", words % {"n": absent}, f"{reverse('operate:list')}?trouble=1")
