"""Dividing an allocation among members: one table, looked at as Slurm would hear of it, then all of it at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import ValidationError
from django.db.models.functions import JSONObject
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from access.numbers import whole
from access.permissions import Permission
from accounts.http import SignedInRequest
from accounts.models import User
from cluster.models import Partition
from jobs.views import previews
from jobs.views.allocations import ACTS, fetch
from quotas import panels, reads
from quotas import services as quotas
from quotas.forms import ShareForm
from quotas.forms.fields import typed
from quotas.models import Allocation, Share
from quotas.wishes import types_of

PAGE = 30  # people of one table: five numbers each


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One member: the form of their share, and what they used and have committed (GPU-minutes)."""

    user: User
    form: ShareForm
    used: int
    committed: int


@login_required
@require_http_methods(ACTS)
def shares(request: SignedInRequest, code: str, allocation: str) -> HttpResponse:
    """The table, thirty members at a time; then what it would do; then it is done."""
    row = fetch(request, Permission.MEMBER_MANAGE, code, allocation)
    members = reads.spenders(row)
    pages = max(1, -(-len(members) // PAGE))
    number = min(pages, _number(request))
    found = _rows(request, row, members[(number - 1) * PAGE : number * PAGE])
    said: list[str] = []
    if request.method == "POST" and previews.EDIT not in request.POST and all(one.form.is_valid() for one in found):
        done = _carry_out(request, row, found, said)
        if done is not None:
            return done
    wrong = bool(said) or any(one.form.is_bound and not one.form.is_valid() for one in found)
    context: dict[str, Any] = {
        "project": row.project, "allocation": row, "rows": found, "said": said, "wrong": wrong, "number": number,
        "pages": range(1, pages + 1), "members": len(members),
        "types": found[0].form.types if found else [],
    }  # fmt: skip
    status = 422 if wrong and previews.EDIT not in request.POST else 200
    return render(request, "quotas/shares.html", context, status=status)


def _number(request: SignedInRequest) -> int:
    text = (request.POST if request.method == "POST" else request.GET).get("page", "1")
    return whole(text, digits=4) or 1


def _rows(request: SignedInRequest, row: Allocation, users: Sequence[User]) -> list[Row]:
    now = {one.user_id: one for one in Share.objects.filter(allocation=row, user__in=users)}
    queues = Partition.objects.values(facts=JSONObject(name="name", types="gpu_types"))
    [line] = panels.panels(Allocation.objects.filter(pk=row.pk).annotate(queues=ArraySubquery(queues)))
    used = {one.login: one for one in line.people}
    data = request.POST if request.method == "POST" else None
    types = _types(line.allocation, now.values())
    found = []
    for user in users:
        share, spent = now.get(user.pk), used.get(user.username)
        initial = {name: getattr(share, name) for name in Share.LIMITS} | typed(share) if share else {}
        form = ShareForm(data, prefix=f"u{user.pk}", initial=initial, allocation=row, types=types)
        found.append(Row(user, form, spent.used if spent else 0, spent.committed if spent else 0))
    return found


def _types(row: Any, shares: Iterable[Share]) -> list[str]:
    """GPU types with a share of their own: those there are where it may be spent, if several, and those shared so."""
    here = row.partitions or row.project.partitions
    known = {kind for queue in row.queues if queue["name"] in here for kind in queue["types"] or {}} | types_of(row)
    already = {kind for share in shares for kind in types_of(share)}
    return sorted(known | already if len(known) > 1 else already)


def _carry_out(request: SignedInRequest, row: Allocation, found: Sequence[Row], said: list[str]) -> HttpResponse | None:
    """The preview, the change once confirmed, or None with what stands against it in `said`."""
    wanted = {one.user: one.form.limits for one in found}

    def act() -> int:
        return quotas.divide(allocation=row, shares=wanted, by=request.user)

    title = _("Divide the allocation %(title)s") % {"title": row.title}
    try:
        back = reverse("allocations:one", args=[row.project.code, row.code])
        page = previews.first(request, row.project, act, title=title, back=back, yes=_("Confirm"))
        if page is not None:
            return page
        act()
    except ValidationError as error:
        said += error.messages
        return None
    except quotas.NotMember:
        said.append(_("Somebody of this table left the project a moment ago. Look again."))
        return None
    messages.success(request, _("Done. Slurm hears of it within seconds; the page says when it is in force."))
    return redirect("allocations:one", row.project.code, row.code)
