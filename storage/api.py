"""The API of a project's files: list, read, bring in, change. The same services, rules and trail as the pages."""

from __future__ import annotations

from typing import Any, Literal, cast

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Field, Query, Router, Schema, Status

from access import gate
from access.permissions import Permission
from accounts.models import User
from files.names import shown
from projects.models import Project
from storage.api_schemas import (
    MOST,
    CheckingOut,
    Digest,
    EntryOut,
    FinishIn,
    FolderOut,
    GrowthTold,
    Id,
    MakeIn,
    Path,
    RenameIn,
    RoomOut,
    StoredOut,
    UnpackedOut,
    UnpackIn,
    UploadIn,
    UploadOut,
    entry_out,
)
from storage.reaching import above, asked
from storage.receiving import piece_of
from storage.sending import asked_range, attachment, ranged
from storage.services import changing, finishing, growth, looking

router = Router()
BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
SAID = {200: "The bytes.", 206: "A part of them.", 416: "Nothing of it lies there."}
CONTENT = {"responses": {status: {"description": said, "content": BYTES} for status, said in SAID.items()}}
BODY = {"requestBody": {"required": True, "content": BYTES}}


class Where(Schema):
    """Which path."""

    path: Path = ""


class Listed(Where):
    """Which entries of which folder, in which order."""

    offset: int = Field(0, ge=0, le=10**9)
    limit: int = Field(500, ge=1, le=10_000)
    order: Literal["name", "-name", "size", "-size", "time", "-time"] = "name"


class Piece(Where):
    """Which bytes of an upload these are."""

    offset: int = Field(ge=0, le=MOST)
    digest: Digest = ""


class Gone(Where):
    """What to remove; `whole`: a folder with all that is in it."""

    whole: bool = False


def _me(request: HttpRequest) -> User:
    return cast(User, request.user)


def _changed(request: HttpRequest, code: str) -> Project:
    return looking.fetch(request.user, code, Permission.JOB_SUBMIT)


@router.get("/{code}/files", response=FolderOut, operation_id="files")
def files(request: HttpRequest, code: str, listed: Query[Listed]) -> dict[str, Any]:
    """The entries of a folder."""
    project, path = looking.fetch(request.user, code), asked(request)
    sight = looking.folder(
        project=project, by=_me(request), path=path, offset=listed.offset, limit=listed.limit, order=listed.order
    )
    return {
        "items": [entry_out(path, one, sight.owners) for one in sight.listing.entries],
        "total": sight.listing.total, "cut": sight.listing.cut,
        "may_change": sight.listing.may_write and gate.can(project, request.user, Permission.JOB_SUBMIT),
    }  # fmt: skip


@router.get("/{code}/files/entry", response=EntryOut, operation_id="file_entry")
def entry(request: HttpRequest, code: str, where: Query[Where]) -> dict[str, Any]:
    """One entry."""
    path = asked(request)
    project = looking.fetch(request.user, code)
    found = looking.head(project=project, by=_me(request), path=path, limit=0).entry
    return entry_out(above(path), found, looking.owners_of(project, [found]))


@router.get("/{code}/files/room", response=RoomOut, operation_id="files_room")
def room(request: HttpRequest, code: str) -> dict[str, int]:
    """Room on the file system of the project's folder."""
    found = looking.room(project=looking.fetch(request.user, code), by=_me(request))
    return {"free": found.free, "total": found.total}


@router.get("/{code}/files/growth", response=GrowthTold, operation_id="files_growth")
def grown(request: HttpRequest, code: str) -> dict[str, Any]:
    """How much the project's folder grew within the last week, and whose part how much."""
    return {"growth": growth.told(looking.fetch(request.user, code))}


@router.get("/{code}/files/content", operation_id="file_content", openapi_extra=CONTENT)
def content(request: HttpRequest, code: str, where: Query[Where]) -> StreamingHttpResponse:
    """The bytes of a file; a Range header with one range asks for a part."""
    first, last = asked_range(request.headers.get("Range", ""))
    project, path = looking.fetch(request.user, code), asked(request)
    taken = looking.take(project=project, by=_me(request), path=path, offset=first, limit=last - first + 1)
    return ranged(taken, path.rpartition("/")[2], first, last, partial="Range" in request.headers)


@router.get("/{code}/files/tar", operation_id="files_tar", openapi_extra=CONTENT)
def tar(request: HttpRequest, code: str, where: Query[Where]) -> StreamingHttpResponse:
    """A folder and all beneath it."""
    project, path = looking.fetch(request.user, code), asked(request)
    taken = looking.take_folder(project=project, by=_me(request), path=path)
    return attachment(taken, f"{path.rpartition('/')[2] or code}.tar")


@router.post("/{code}/files/uploads", response={201: UploadOut}, operation_id="begin_upload")
def begin(request: HttpRequest, code: str, body: UploadIn) -> Status[dict[str, Any]]:
    """Begin an upload, or ask where one that broke off stands."""
    name, offset = changing.begin(
        project=_changed(request, code), by=_me(request), path=body.path, size=body.size, overwrite=body.overwrite,
        upload=body.id or "",
    )  # fmt: skip
    return Status(201, {"id": name, "offset": offset, "piece": changing.PIECE})


@router.put("/{code}/files/uploads/{id}", response=UploadOut, operation_id="upload_piece", openapi_extra=BODY)
def piece(request: HttpRequest, code: str, id: Id, where: Query[Piece]) -> dict[str, Any]:
    """The next bytes of an upload: the body, as it is."""
    project = _changed(request, code)
    size, data = piece_of(request)
    offset = changing.piece(
        project=project, by=_me(request), path=asked(request), upload=id, offset=where.offset, size=size,
        data=data, digest=where.digest,
    )  # fmt: skip
    return {"id": id, "offset": offset, "piece": changing.PIECE}


@router.post(
    "/{code}/files/uploads/{id}/finish", response={200: StoredOut, 202: CheckingOut}, operation_id="finish_upload"
)
def finish(request: HttpRequest, code: str, id: Id, body: FinishIn) -> Status[dict[str, Any]]:
    """Give the upload its name, once size and digest are what they should be. 202: that takes a while; ask again."""
    found = finishing.finish(
        project=_changed(request, code), by=_me(request), path=body.path, upload=id, size=body.size, digest=body.digest,
        overwrite=body.overwrite,
    )  # fmt: skip
    if isinstance(found, finishing.Checking):
        return Status(202, {"checked": found.checked, "size": found.size})
    return Status(200, {"path": shown(body.path), "size": found.size, "digest": found.digest})


@router.delete("/{code}/files/uploads/{id}", response={204: None}, operation_id="abandon_upload")
def abandon(request: HttpRequest, code: str, id: Id, where: Query[Where]) -> Status[None]:
    """Take an unfinished upload away."""
    changing.abandon(project=_changed(request, code), by=_me(request), path=asked(request), upload=id)
    return Status(204, None)


@router.post("/{code}/files/folders", response={204: None}, operation_id="make_folder")
def make(request: HttpRequest, code: str, body: MakeIn) -> Status[None]:
    """Make a folder."""
    changing.make(project=_changed(request, code), by=_me(request), path=body.path, parents=body.parents)
    return Status(204, None)


@router.post("/{code}/files/rename", response=EntryOut, operation_id="rename_file")
def rename(request: HttpRequest, code: str, body: RenameIn) -> dict[str, Any]:
    """Give another name or place; never over something that is there."""
    project = _changed(request, code)
    found = changing.rename(project=project, by=_me(request), path=body.path, to=body.to)
    return entry_out(above(body.to), found, looking.owners_of(project, [found]))


@router.post("/{code}/files/unpack", response={201: UnpackedOut}, operation_id="unpack_file")
def unpack(request: HttpRequest, code: str, body: UnpackIn) -> Status[dict[str, Any]]:
    """Unpack a zip into a new folder: whole, or not at all."""
    made = changing.unpack(project=_changed(request, code), by=_me(request), path=body.path, to=body.to)
    return Status(201, {"path": shown(body.to), **made})


@router.delete("/{code}/files", response={204: None}, operation_id="delete_file")
def delete(request: HttpRequest, code: str, gone: Query[Gone]) -> Status[None]:
    """Remove a file, an empty folder, or a folder with all that is in it."""
    changing.delete(project=_changed(request, code), by=_me(request), path=asked(request), whole=gone.whole)
    return Status(204, None)
