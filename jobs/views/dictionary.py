"""The site's dictionary: what old names in imported scripts are called here, in versions."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from accounts.http import SignedInRequest
from jobs.models import DictionaryVersion
from jobs.services.importing import Entry, dictionary

MOST_SHOWN = 50


@login_required
@require_http_methods(["GET", "POST"])
def entries(request: SignedInRequest) -> HttpResponse:
    """All of it, with its versions; an administrator makes another (POST)."""
    can_change = gate.site_can(request.user, Permission.CLUSTER_OPERATE)
    if request.method == "POST" and not can_change:
        raise NotFound(Permission.CLUSTER_OPERATE, "jobs.dictionaryversion", {})
    newest = dictionary.newest()
    context: dict[str, Any] = {
        "newest": newest, "can_change": can_change, "shown": _shown(request, newest),
        "versions": DictionaryVersion.objects.select_related("made_by").defer("entries")[:MOST_SHOWN],
        "text": dictionary.written(Entry(**one) for one in newest.entries) if newest else "",
        "base": newest.number if newest else 0,
    }  # fmt: skip
    if request.method == "POST":
        context["text"] = request.POST.get("text", "").replace("\x00", "")
        errors = _change(request, context["text"])
        if not errors:
            messages.success(request, _("Saved as another version."))
            return redirect("dictionary")
        context["errors"] = errors
    return render(request, "jobs/dictionary.html", context, status=422 if "errors" in context else 200)


def _shown(request: SignedInRequest, newest: DictionaryVersion | None) -> DictionaryVersion | None:
    asked = request.GET.get("version", "")
    if not asked.isdecimal() or len(asked) > 9:
        return newest
    return DictionaryVersion.objects.select_related("made_by").filter(number=int(asked)).first() or newest


def _change(request: SignedInRequest, text: str) -> list[str]:
    base = request.POST.get("base", "")
    note = request.POST.get("note", "").replace("\x00", "").strip()
    try:
        found = dictionary.parse(text)
        number = int(base) if base.isdecimal() and len(base) < 10 else -1
        dictionary.change(entries=found, base=number, note=note, by=request.user)
    except dictionary.WrongLines as wrong:
        return wrong.errors
    except dictionary.ChangedMeanwhile:
        return [_("Somebody has changed it meanwhile. Reload the page and change it again.")]
    return []
