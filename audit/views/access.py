"""Who could see or use what on a date: the page, and the same as CSV; each question is an event."""

from __future__ import annotations

import csv
import io
from datetime import datetime, time
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from audit import could, things
from audit.cells import cell
from audit.services import scope
from audit.services.answering import answered

MOST = 500  # rows of the page; the CSV has all
# of what, and what is said where there is none
OF = {
    "person": gettext_lazy("Nobody has this sign-in."),
    "project": gettext_lazy("There is no project of this code."),
    "dataset": gettext_lazy("There is no dataset of this code."),
}
COLUMNS = ("kind", "login", "name", "code", "role", "rights", "since", "until", "by", "why")


@login_required
@require_safe
def access(request: HttpRequest) -> HttpResponse:
    """Asked of a person, a project or a dataset (or of all that was so), at a moment."""
    scope.whole_for(request.user)
    asked, trouble = _asked(request)
    rows = answered(asked, by=request.user, form="page") if asked and not trouble else []
    context = {
        "asked": asked, "rows": rows[:MOST], "more": max(0, len(rows) - MOST), "trouble": trouble,
        "at": request.GET.get("at", ""), "query": request.GET.urlencode(), "count": len(rows),
        **{name: request.GET.get(name, "") for name in OF},
    }  # fmt: skip
    return render(request, "audit/access.html", context, status=422 if trouble else 200)


@login_required
@require_safe
def access_csv(request: HttpRequest) -> HttpResponse:
    """The same, whole, for a table."""
    scope.whole_for(request.user)
    asked, trouble = _asked(request)
    if asked is None or trouble:
        return access(request)
    out = io.StringIO()
    lines = csv.writer(out)
    lines.writerow(COLUMNS)
    for one in answered(asked, by=request.user, form="csv"):
        said = could.spoken(one) | {"rights": " ".join(one.rights)}
        lines.writerow([_cell(said[name]) for name in COLUMNS])
    name = f"access-{asked.dataset or asked.project or asked.person or 'all'}-{asked.at:%Y-%m-%d}.csv"
    return HttpResponse(
        out.getvalue(), content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )  # fmt: skip


def _asked(request: HttpRequest) -> tuple[could.Asked | None, dict[str, str]]:
    """(what is asked, field -> what is wrong with it). Nothing is asked where there is no date."""
    words = {name: request.GET.get(name, "").replace("\x00", "").strip()[:64] for name in (*OF, "at")}
    if not words["at"]:
        return None, {}
    at = _moment(words["at"])
    trouble = {} if at else {"at": _("Enter a day, or a day and a time.")}
    for kind, said in OF.items():
        if words[kind] and things.find(kind, words[kind]) is None:
            trouble[kind] = str(said)
    return could.Asked(at or timezone.now(), **{kind: words[kind] for kind in OF}), trouble


def _moment(text: str) -> datetime | None:
    """A time as the browser gives it; a day alone is its noon."""
    try:
        found = parse_datetime(text) if len(text) > 10 else None
        day = parse_date(text) if found is None else None
    except ValueError:
        return None
    if day is not None:
        found = datetime.combine(day, time(12))
    if found is None:
        return None
    return found if timezone.is_aware(found) else timezone.make_aware(found)


def _cell(value: Any) -> str:
    """Text that no table takes for a formula."""
    text = value.isoformat() if isinstance(value, datetime) else "" if value is None else str(value)
    return cell(text)
