"""The table of a project's storage by person, as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from accounts.http import SignedInRequest
from audit import trail
from audit.actions import Action
from projects import tables
from storage.services import looking, space
from storage.views import telling


@login_required
@require_GET
@telling.page
def people_csv(request: SignedInRequest, code: str) -> StreamingHttpResponse:
    """Everybody who has a file there, as far as the reader may see them; that somebody took it is recorded."""
    project = looking.fetch(request.user, code)
    found = space.of_project(project=project, by=request.user)
    trail.record(Action.REPORT_READ, by=request.user, project=project, table="storage")
    head = [_("login"), _("name"), _("files"), _("size (bytes)"), _("last 7 days (bytes)"), _("counted to the end")]
    return tables.of_today(f"{code}-storage", head, _lines(found))


def _lines(found: space.Space) -> Iterator[list[Any]]:
    counted = _("no") if found.census.cut else _("yes")
    for one in found.people:
        login = one.user.username if one.user else ""
        yield [login, one.name, one.share.files, one.share.bytes, one.share.new, counted]
