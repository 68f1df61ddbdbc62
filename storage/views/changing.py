"""A project's files changed: uploads with and without JavaScript, new folders, names, ends."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from access.numbers import whole
from access.permissions import Permission
from accounts.http import SignedInRequest
from files.answers import Refused
from files.names import shown
from projects.models import Project
from storage import words
from storage.reaching import above, address, asked, join
from storage.receiving import piece_of
from storage.services import changing, finishing, looking
from storage.views import telling

CHUNK = 256 * 1024


def _project(request: SignedInRequest, code: str) -> Project:
    return looking.fetch(request.user, code, Permission.JOB_SUBMIT)


@login_required
@require_POST
@telling.page
def upload(request: SignedInRequest, code: str) -> HttpResponse:
    """The plain form: whole files, as large as one request may be."""
    project, path = _project(request, code), asked(request)
    sent = request.FILES.getlist("files")
    overwrite = "overwrite" in request.POST
    for one in sent:
        changing.put(
            project=project, by=request.user, path=join(path, one.name or ""), size=one.size or 0,
            data=one.chunks(CHUNK), overwrite=overwrite,
        )  # fmt: skip
    if sent:
        said = ngettext("%(n)d file stored.", "%(n)d files stored.", len(sent)) % {"n": len(sent)}
        messages.success(request, said)
    else:
        messages.error(request, _("Choose one or more files first."))
    return redirect(address("folder", code, path))


@login_required
@require_POST
@telling.script
def begin(request: SignedInRequest, code: str) -> dict[str, Any]:
    """An upload in pieces begins, or goes on: its name and where it stands."""
    project, path = _project(request, code), asked(request)
    if "parents" in request.GET and above(path):
        changing.make(project=project, by=request.user, path=above(path), parents=True)
    name, offset = changing.begin(
        project=project, by=request.user, path=path, size=_size(request, "size"), upload=request.GET.get("id", ""),
        overwrite="overwrite" in request.GET,
    )  # fmt: skip
    return {"id": name, "offset": offset, "piece": changing.PIECE}


@login_required
@require_POST
@telling.script
def piece(request: SignedInRequest, code: str) -> dict[str, Any]:
    """The next bytes of an upload: the body, as it is."""
    project, path = _project(request, code), asked(request)
    size, data = piece_of(request)
    offset = changing.piece(
        project=project, by=request.user, path=path, upload=request.GET.get("id", ""), offset=_size(request, "offset"),
        size=size, data=data, digest=request.GET.get("digest", ""),
    )  # fmt: skip
    return {"offset": offset}


@login_required
@require_POST
@telling.script
def finish(request: SignedInRequest, code: str) -> dict[str, Any]:
    """All bytes are there: the upload gets its name, or (202) is still being checked."""
    found = finishing.finish(
        project=_project(request, code), by=request.user, path=asked(request), upload=request.GET.get("id", ""),
        size=_size(request, "size"), digest=request.GET.get("digest", ""), overwrite="overwrite" in request.GET,
    )  # fmt: skip
    if isinstance(found, finishing.Checking):
        return {"status": 202, "checked": found.checked, "size": found.size}
    return {"size": found.size, "digest": found.digest}


def _size(request: SignedInRequest, name: str) -> int:
    size = whole(request.GET.get(name, ""), digits=17)
    if size is None:
        raise Refused("bad-request")
    return size


@login_required
@require_POST
@telling.page
def make(request: SignedInRequest, code: str) -> HttpResponse:
    """A new folder in this one."""
    project, path = _project(request, code), asked(request)
    name = request.POST.get("name", "").strip()
    if "/" in name:
        raise Refused("bad-name")
    try:
        changing.make(project=project, by=request.user, path=join(path, name))
    except Refused as error:
        messages.error(request, words.of(error)[2])
        return redirect(address("folder", code, path))
    return redirect(address("folder", code, join(path, name)))


@login_required
@require_POST
@telling.page
def unpack(request: SignedInRequest, code: str) -> HttpResponse:
    """A zip into a new folder beside it."""
    project, path = _project(request, code), asked(request)
    name = request.POST.get("name", "").strip()
    if "/" in name:
        raise Refused("bad-name")
    to = join(above(path), name)
    try:
        made = changing.unpack(project=project, by=request.user, path=path, to=to)
    except Refused as error:
        messages.error(request, words.of(error)[2])
        return redirect(address("folder", code, path))
    said = ngettext("%(n)d file unpacked.", "%(n)d files unpacked.", made["files"]) % {"n": made["files"]}
    messages.success(request, said)
    return redirect(address("folder", code, to))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@telling.page
def change(request: SignedInRequest, code: str) -> HttpResponse:
    """One entry's page of acts: another name or place, its end. What is asked for is said again before it is done."""
    project, path = _project(request, code), asked(request)
    if not path:
        raise Refused("denied")
    if request.method == "POST":
        return _changed(request, project, path)
    found = looking.head(project=project, by=request.user, path=path, limit=0)
    owners = looking.owners_of(project, [found.entry])
    context = {
        "project": project, "path": path, "shown_path": shown(path), "entry": found.entry,
        "owner": owners.get(found.entry.uid), "back": address("folder", code, above(path)), "to": shown(path),
        "here": address("change", code, path), "root": address("folder", code),
    }  # fmt: skip
    return render(request, "storage/change.html", context)


def _changed(request: SignedInRequest, project: Project, path: str) -> HttpResponse:
    back = address("folder", project.code, above(path))
    try:
        if request.POST.get("act") == "delete":
            changing.delete(project=project, by=request.user, path=path, whole="whole" in request.POST)
            messages.success(request, _("Deleted: %(name)s") % {"name": shown(path)})
        else:
            to = request.POST.get("to", "").strip().strip("/")
            changing.rename(project=project, by=request.user, path=path, to=to)
            messages.success(request, _("It is now called %(name)s.") % {"name": shown(to)})
            back = address("folder", project.code, above(to))
    except Refused as error:
        messages.error(request, words.of(error)[2])
        back = address("change", project.code, path)
    return redirect(back)
