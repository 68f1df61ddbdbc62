"""A project's files: a folder's page, a file's page, an image, and what is taken out."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from access import gate
from access.numbers import whole
from access.permissions import Permission
from accounts.http import SignedInRequest
from files.answers import Refused
from files.client import Entry
from files.names import shown
from files.wire import ORDERS
from projects.models import Project
from storage.previews import image_type, is_checkpoint, preview
from storage.reaching import above, address, asked, join, query
from storage.sending import asked_range, attachment, closed, ranged
from storage.services import looking, space
from storage.views import telling

ROWS = 200
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/-]*")  # what a job's folder may be called: jobs.option_checks


@login_required
@require_safe
@telling.page
def folder(request: SignedInRequest, code: str) -> HttpResponse:
    """A folder's page; of a file, the file's."""
    project, path = looking.fetch(request.user, code), asked(request)
    offset, order = number(request, "from"), request.GET.get("order", "name")
    order = order if order in ORDERS else "name"
    try:
        sight = looking.folder(
            project=project, by=request.user, path=path, offset=offset, limit=ROWS, order=order, room=True
        )
    except Refused as error:
        if error.answer == "not-folder" and path:
            return _file(request, project, path)
        raise
    may_change = sight.listing.may_write and gate.can(project, request.user, Permission.JOB_SUBMIT)
    context = _frame(project, path) | {
        "starts_here": starts_at(path),
        "sight": sight, "rows": rows(project, path, sight), "order": order, "may_change": may_change,
        "older": _page(path, order, offset + ROWS) if offset + ROWS < sight.listing.total else "",
        "newer": _page(path, order, max(0, offset - ROWS)) if offset else "",
        "orders": {one: _page(path, f"-{one}" if order == one else one, 0) for one in ("name", "size", "time")},
    }  # fmt: skip
    return render(request, "storage/folder.html", context)


def starts_at(path: str) -> bool:
    """Whether a job may be asked to start in this folder: by its name."""
    return bool(_PLAIN.fullmatch(path))


def rows(project: Project, path: str, sight: looking.Sight) -> list[dict[str, Any]]:
    """A folder's entries as its table draws them."""
    return [row(project, join(path, one.name), one, sight.owners) for one in sight.listing.entries]


def row(project: Project, path: str, one: Entry, owners: dict[int, Any]) -> dict[str, Any]:
    """One entry with its addresses."""
    return {
        "entry": one,
        "href": address("folder", project.code, path) if one.kind in "df" else "",
        "download": address("download", project.code, path) if one.kind in "df" else "",
        "change": address("change", project.code, path),
        "at": datetime.fromtimestamp(one.mtime, UTC) if 0 <= one.mtime < 2**33 else None,
        "owner": owners.get(one.uid),
        "is_checkpoint": one.is_file and is_checkpoint(one.name),
    }


def _frame(project: Project, path: str) -> dict[str, Any]:
    """The way to where we are, from the root on."""
    parts = path.split("/") if path else []
    way = [("/".join(parts[: n + 1]), shown(part)) for n, part in enumerate(parts)]
    steps = [(address("folder", project.code, at), name) for at, name in way]
    here = address("folder", project.code)
    acts = {act: address(act, project.code, path) for act in ("make", "upload", "download")}
    return {"project": project, "path": path, "shown_path": shown(path), "query": query(path), "root": here,
            "steps": steps, **acts}  # fmt: skip


def _page(path: str, order: str, offset: int) -> str:
    there = address("folder", "x", path).partition("?")[2]
    return "&".join(filter(None, (there, f"order={order}", f"from={offset}" if offset else "")))


def number(request: SignedInRequest, name: str) -> int:
    """A whole number of the query; what is none counts as 0."""
    return whole(request.GET.get(name, ""), digits=9) or 0


def _file(request: SignedInRequest, project: Project, path: str) -> HttpResponse:
    """A file's page: what it is, whose, and its beginning."""
    found = looking.head(project=project, by=request.user, path=path)
    if not found.entry.is_file:
        raise Refused("not-regular")
    owners = looking.owners_of(project, [found.entry])
    is_zip = path.lower().endswith(".zip") and gate.can(project, request.user, Permission.JOB_SUBMIT)
    context = _frame(project, path) | {
        "unpack": address("unpack", project.code, path) if is_zip else "", "unpack_to": shown(_last(path))[:-4],
        "row": row(project, path, found.entry, owners), "preview": preview(found.entry, found.data),
        "image": address("image", project.code, path), "back": address("folder", project.code, above(path)),
        "may_change": gate.can(project, request.user, Permission.JOB_SUBMIT),
    }  # fmt: skip
    return render(request, "storage/file.html", context)


@login_required
@require_safe
@telling.page
def use(request: SignedInRequest, code: str) -> HttpResponse:
    """What lies here in all, and what of one's own is old: a part of the folder's page that may take some seconds."""
    project = looking.fetch(request.user, code)
    found = looking.use(project=project, by=request.user)
    olds = [row(project, one.name, one, {}) for one in found.old.entries]
    return render(request, "storage/_use.html", {"use": found, "olds": olds, "days": looking.OLD})


@login_required
@require_safe
@telling.page
def storage(request: SignedInRequest, code: str) -> HttpResponse:
    """The storage of a project: a part of its page."""
    project = looking.fetch(request.user, code)
    found = space.of_project(project=project, by=request.user)
    context = {
        "project": project, "space": found, "people": found.people[: space.SHOWN],
        "more": max(0, len(found.people) - space.SHOWN), "growth": space.grown(project, found),
    }  # fmt: skip
    return render(request, "storage/_space.html", context)


@login_required
@require_safe
@telling.page
def image(request: SignedInRequest, code: str) -> HttpResponse:
    """An image for a page of ours: by what its bytes are, never as what its name says."""
    project, path = looking.fetch(request.user, code), asked(request)
    found = looking.head(project=project, by=request.user, path=path, limit=looking.MOST_IMAGE)
    kind = image_type(found.data)
    if not kind or found.entry.size > looking.MOST_IMAGE:
        raise Refused("not-regular")
    return closed(HttpResponse(found.data, content_type=kind))


@login_required
@require_safe
@telling.page
def download(request: SignedInRequest, code: str) -> HttpResponse | StreamingHttpResponse:
    """A file, a range of it, or a folder as a tar: an attachment that no browser renders."""
    project, path = looking.fetch(request.user, code), asked(request)
    first, last = asked_range(request.headers.get("Range", ""))
    try:
        taken = looking.take(project=project, by=request.user, path=path, offset=first, limit=last - first + 1)
    except Refused as error:
        if error.answer != "is-folder":
            raise
        return attachment(
            looking.take_folder(project=project, by=request.user, path=path), f"{_last(path) or project.code}.tar"
        )
    return ranged(taken, _last(path), first, last, partial="Range" in request.headers)


def _last(path: str) -> str:
    return path.rpartition("/")[2]
