"""Scripts people bring: pasted or uploaded, read, looked at beside what became of their lines, and asked for."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from accounts.http import SignedInRequest
from jobs.models import Draft
from jobs.services.importing import Became, drafts
from projects.models import Project

MOST_SHOWN = 200


@login_required
@require_http_methods(["GET", "POST"])
def bring(request: SignedInRequest) -> HttpResponse:
    """Paste a script or upload some (GET); they become drafts (POST)."""
    theirs = list(gate.allowing(Project.objects.order_by("title"), request.user, Permission.JOB_SUBMIT))
    if request.method == "POST":
        return _brought(request, theirs)
    if not theirs:
        return render(request, "jobs/submit_nowhere.html")
    code = request.GET.get("project", "")
    context = {"projects": theirs, "code": code, "most": drafts.MOST_FILES}
    return render(request, "jobs/import.html", context)


def _brought(request: SignedInRequest, theirs: list[Project]) -> HttpResponse:
    code = request.POST.get("project", "").replace("\x00", "")
    project = gate.fetch(Project.objects, request.user, Permission.JOB_SUBMIT, code=code)
    said = ""
    try:
        files = _files(request)
        made = drafts.keep(project=project, files=files, by=request.user) if files else []
    except (drafts.NotText, drafts.TooMany) as no:
        made, said = [], str(no)
    if made:
        return redirect("jobs:draft", made[0].pk) if len(made) == 1 else redirect("jobs:drafts")
    context = {
        "projects": theirs, "code": project.code, "most": drafts.MOST_FILES, "text": request.POST.get("text", ""),
        "said": said or _("Paste a script, or choose files."),
    }  # fmt: skip
    return render(request, "jobs/import.html", context, status=422)


def _files(request: SignedInRequest) -> list[tuple[str, str]]:
    """(name, text) of what was pasted and of every file. Raises NotText, TooMany."""
    uploads = request.FILES.getlist("files")
    if len(uploads) > drafts.MOST_FILES:
        raise drafts.TooMany(_("At most %(n)d files at once.") % {"n": drafts.MOST_FILES})
    pasted = request.POST.get("text", "").replace("\r\n", "\n")  # so browsers send every line
    found = [(_("pasted"), drafts.decoded(_("pasted"), pasted.encode()))] if pasted.strip() else []
    for one in uploads:
        name = (one.name or "script").replace("\x00", "")
        found.append((name, drafts.decoded(name, one.read(drafts.LONGEST_SCRIPT + 1))))
    return found


@login_required
@require_GET
def listed(request: SignedInRequest) -> HttpResponse:
    """What was brought and not asked for: ready, with a question, or refused and why."""
    rows = _placed(request, drafts.mine(request.user)[:MOST_SHOWN])
    for row in rows:
        row.why = [one.said for one in drafts.findings(row) if one.became in (Became.REFUSED, Became.QUESTION)]  # type: ignore[attr-defined]
    return render(request, "jobs/drafts.html", {"rows": rows, "ready": [row for row in rows if row.state == "ready"]})


def _placed(request: SignedInRequest, rows: Iterable[Draft]) -> list[Draft]:
    """With the title of the project, where the person may still submit to it: their files stay theirs."""
    may = set(gate.allowing(Project.objects.all(), request.user, Permission.JOB_SUBMIT).values_list("pk", flat=True))
    found = list(rows)
    for row in found:
        row.where = row.project.title if row.project_id in may else ""  # type: ignore[attr-defined]
    return found


def fetch(request: SignedInRequest, pk: str) -> Draft:
    """A draft of the person's own, not asked for yet."""
    rows = Draft.objects.select_related("project", "owner").filter(owner=request.user, job=None)
    found = rows.filter(pk=pk).first() if _is_id(str(pk)) else None
    if found is None:
        raise NotFound(Permission.JOB_SUBMIT, "jobs.draft", {"pk": pk})
    return found


@login_required
@require_http_methods(["GET", "POST"])
def draft(request: SignedInRequest, pk: str) -> HttpResponse:
    """One script with what became of its lines (GET); read again with some replacements undone (POST)."""
    one = fetch(request, pk)
    if request.method == "POST":
        drafts.read_again(draft=one, undone=[key.replace("\x00", "") for key in request.POST.getlist("undone")])
        return redirect("jobs:draft", one.pk)
    _placed(request, [one])
    found = drafts.findings(one)
    replaced = {finding.key: finding for finding in found if finding.key}
    context = {
        "one": one, "findings": found, "replaced": list(replaced.values()), "undone": set(one.undone),
        "fields": [(name, str(value)) for name, value in one.fields.items() if name != "script"],
    }  # fmt: skip
    return render(request, "jobs/draft.html", context)


@login_required
@require_POST
def ask(request: SignedInRequest) -> HttpResponse:
    """Ask for the drafts that were chosen; what is not ready stays, with the reason."""
    wanted = [pk for pk in request.POST.getlist("draft") if _is_id(pk)][: drafts.MOST_FILES]
    rows = drafts.mine(request.user).filter(pk__in=wanted)
    may = gate.allowing(Project.objects.all(), request.user, Permission.JOB_SUBMIT)
    made, refused = drafts.ask(drafts=list(rows.filter(project__in=may)), by=request.user)
    if made:
        said = ngettext("%(n)d job asked for.", "%(n)d jobs asked for.", len(made)) % {"n": len(made)}
        messages.success(request, said)
    for name, why in refused.items():
        messages.error(request, f"{name}: {why}")
    return redirect("jobs:drafts")


def _is_id(text: str) -> bool:
    try:
        return bool(UUID(text))
    except ValueError:
        return False


@login_required
@require_POST
def delete(request: SignedInRequest, pk: str) -> HttpResponse:
    """The draft is not wanted any more."""
    fetch(request, pk).delete()
    messages.success(request, _("Deleted."))
    return redirect("jobs:drafts")
