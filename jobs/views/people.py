"""Who is in a project: including somebody, changing a role or a last day, removing with a choice for their jobs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from access.errors import NotFound, Refused
from access.permissions import Permission
from access.roles import Role
from accounts import admission
from accounts.http import SignedInRequest
from accounts.models import User
from jobs.services import leaving
from jobs.views import previews
from jobs.views.project import people_of, with_rights
from projects import refusals, searching, services
from projects.forms import AddForm, RemoveForm, RoleForm
from projects.models import Membership, OnEnd, Project

FORMER = 100


@login_required
@require_http_methods(["GET", "POST"])
def people(request: SignedInRequest, code: str) -> HttpResponse:
    """The people of a project with a search for others (GET, htmx: only what was found), and who is included (POST)."""
    project = with_rights(request.user, Permission.MEMBER_MANAGE, code=code)
    form = AddForm(request.POST or None, with_pi=project.may_lead)
    if request.method == "POST" and form.is_valid():
        added = _add(request, form, project)
        if added is not None:
            messages.success(request, _("%(name)s is in the project now.") % {"name": added.name})
            return redirect("projects:detail", code)
    words = (request.POST if request.method == "POST" else request.GET).get("q", "")
    answer = searching.answer(words, by=request.user, project=project)
    if request.method == "GET" and request.htmx:
        return render(request, "projects/_found.html", {"answer": answer, "field": "person"})
    context = people_of(project, request.user) | {"form": form, "answer": answer, "former": _former(project)}
    return render(request, "projects/people.html", context, status=422 if form.is_bound else 200)


def _add(request: SignedInRequest, form: AddForm, project: Project) -> User | None:
    fields = dict(form.cleaned_data)
    try:
        user = admission.person_by_id(fields.pop("person"))
        services.add_member(project=project, user=user, by=request.user, **fields)
    except refusals.REFUSALS as error:
        _say(form, error)
        return None
    return user


def _say(form: AddForm | RoleForm | RemoveForm, error: Exception) -> None:
    refusal = refusals.of(error)
    form.add_error(refusal.field if refusal.field in form.fields else None, str(refusal.words))


def _former(project: Project) -> list[Membership]:
    """The last membership of each person who is in it no more, the latest first."""
    here = Membership.objects.active().filter(project=project).values("user")
    over = Membership.objects.filter(project=project, ends_at__lte=timezone.now()).exclude(user__in=here)
    last = over.order_by("user", "-ends_at").distinct("user").values("pk")
    return list(Membership.objects.filter(pk__in=last).select_related("user").order_by("-ends_at")[:FORMER])


def _one(request: SignedInRequest, code: str, login: str) -> tuple[Any, list[Membership]]:
    """The project and all memberships of this person in it, the latest first; one's own, or anybody's for a manager.

    Raises NotFound, Refused.
    """
    own = login == request.user.username
    permission = Permission.PROJECT_VIEW if own else Permission.MEMBER_MANAGE
    project = with_rights(request.user, permission, code=code)
    rows = Membership.objects.filter(project=project, user__username=login)
    found = list(rows.select_related("user", "by", "ended_by").order_by("-starts_at", "-pk"))
    if not found:
        raise NotFound(permission, "projects.membership", {"code": code, "login": login})
    return project, found


def _current(rows: list[Membership]) -> Membership | None:
    now = timezone.now()
    return next((row for row in rows if row.starts_at <= now and (row.ends_at is None or row.ends_at > now)), None)


@login_required
@require_GET
def member(request: SignedInRequest, code: str, login: str) -> HttpResponse:
    """One person in one project: what may be changed, and what was."""
    project, rows = _one(request, code, login)
    return _page(request, project, rows)


def _page(
    request: SignedInRequest, project: Any, rows: list[Membership], form: Any = None, removal: Any = None
) -> HttpResponse:
    row, person = _current(rows), rows[0].user
    may_touch = row is not None and (project.may_lead or row.role != Role.PI)
    is_me = person.pk == request.user.pk
    initial = {"role": row.role, "until": timezone.localdate(row.ends_at) if row.ends_at else None} if row else {}
    context = {
        "project": project, "person": person, "row": row, "is_me": is_me,
        "history": rows if project.may_manage else [],
        "may_change": may_touch and project.may_manage,
        "may_remove": may_touch and (project.may_manage or is_me),
        "form": form or RoleForm(initial=initial, with_pi=project.may_lead),
        "removal": removal or RemoveForm(),
        "touched": leaving.touched(project, person) if row else None,
    }  # fmt: skip
    wrong = bool((form and form.errors) or (removal and removal.errors))
    return render(request, "projects/member.html", context, status=422 if wrong else 200)


@login_required
@require_http_methods(["GET", "POST"])
def change(request: SignedInRequest, code: str, login: str) -> HttpResponse:
    """Another role, another last day."""
    project, rows = _one(request, code, login)
    if not project.may_manage:
        raise Refused(Permission.MEMBER_MANAGE, "projects.membership", {"code": code, "login": login})
    if request.method == "GET":  # read again, or gone back to
        return redirect("projects:member", code, login)
    form = RoleForm(request.POST, with_pi=project.may_lead)
    if form.is_valid() and previews.EDIT not in request.POST:
        try:
            row = _current(rows) or _over()
            kept = _kept(form, row)
            title = _("%(name)s gets another role or last day") % {"name": row.user.name}
            act = partial(services.change_member, membership=row, by=request.user, **kept)
            page = _asked_first(request, project, act, rows, title=title, yes=_("Save"))
            if page is None:
                act()
                messages.success(request, _("Saved."))
            return page or redirect("projects:detail", code)
        except refusals.REFUSALS as error:
            _say(form, error)
    return _page(request, project, rows, form=form)


def _asked_first(
    request: SignedInRequest, project: Project, act: Callable[[], object], rows: list[Membership], *, title: str,
    yes: str, note: str = "",
) -> HttpResponse | None:  # fmt: skip
    """What Slurm would be told and which waiting jobs it would block, where it takes something from the person."""
    back = reverse("projects:member", args=[project.code, rows[0].user.username])
    return previews.first(request, project, act, title=title, back=back, yes=yes, always=False, note=note)


def _note(project: Project, person: User, on_end: str) -> str:
    """What the choice does to the person's jobs; nothing where none runs or waits."""
    touched = leaving.touched(project, person)
    counts = {"running": touched.running, "queued": touched.queued}
    if on_end == OnEnd.CANCEL and (touched.running or touched.queued):
        return _("Running jobs that are cancelled: %(running)d. Waiting jobs that are cancelled: %(queued)d.") % counts
    if on_end == OnEnd.HOLD and touched.queued:
        return _("Waiting jobs that are held in the queue: %(queued)d. Running jobs that finish: %(running)d.") % counts
    if touched.running or touched.queued:
        return _("Running jobs that finish: %(running)d. Waiting jobs that stay in the queue: %(queued)d.") % counts
    return ""


def _kept(form: RoleForm, row: Membership) -> dict[str, Any]:
    """The form's values; a last day that was left as it was keeps its moment."""
    fields = dict(form.cleaned_data)
    if fields["until"] and row.ends_at and timezone.localdate(fields["until"]) == timezone.localdate(row.ends_at):
        fields["until"] = row.ends_at
    return fields


def _over() -> Membership:
    raise services.NotMember


@login_required
@require_http_methods(["GET", "POST"])
def remove(request: SignedInRequest, code: str, login: str) -> HttpResponse:
    """The end of a membership, somebody else's or one's own."""
    project, rows = _one(request, code, login)
    if request.method == "GET":
        return redirect("projects:member", code, login)
    form = RemoveForm(request.POST)
    if form.is_valid() and previews.EDIT not in request.POST:
        try:
            row, leaves = _current(rows) or _over(), login == request.user.username
            act = partial(services.remove_member, membership=row, by=request.user, **form.cleaned_data)
            title = _("You leave the project") if leaves else _("%(name)s leaves the project") % {"name": row.user.name}
            yes, note = _("Leave") if leaves else _("Remove"), _note(project, row.user, form.cleaned_data["on_end"])
            page = _asked_first(request, project, act, rows, title=title, yes=yes, note=note)
            if page is None:
                act()
            return page or _left(request, code, row.user)
        except refusals.REFUSALS as error:
            _say(form, error)
    return _page(request, project, rows, removal=form)


def _left(request: SignedInRequest, code: str, person: User) -> HttpResponse:
    if person.pk == request.user.pk:
        messages.success(request, _("You have left the project."))
        return redirect("projects:list")
    messages.success(request, _("%(name)s is no longer in the project.") % {"name": person.name})
    return redirect("projects:detail", code)
