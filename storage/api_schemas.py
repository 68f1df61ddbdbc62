"""What files look like over the API."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from ninja import Field, Schema

from access.typed import Text
from accounts.models import User
from files.client import Entry
from storage.reaching import join, query
from storage.services.changing import PIECE

MOST = 2**53 - 1  # bytes: what JSON's numbers carry exactly
KINDS = {"d": "folder", "f": "file", "l": "link", "o": "other"}
Path = Annotated[Text, Field(max_length=4096, description="From the project's folder on; the folder itself is empty.")]
Id = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Digest = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$", description="SHA-256 in hex; empty: not compared.")]


class EntryOut(Schema):
    """One entry of a folder."""

    name: str = Field(description="What cannot be seen is written out, like \\x0a.")
    path: str = Field(description="Its path for `?path=`, percent-encoded, whatever bytes it has.")
    kind: Literal["folder", "file", "link", "other"]
    size: int = Field(description="Bytes.")
    changed_at: datetime | None
    owner: str | None = Field(description="The login; none for somebody the portal does not know.")


class FolderOut(Schema):
    """Some of a folder's entries."""

    items: list[EntryOut]
    total: int
    cut: bool = Field(description="There are more than are counted.")
    may_change: bool


class UploadIn(Schema):
    """An upload that begins; with the `id` of one that broke off it goes on."""

    path: Path
    size: int = Field(ge=0, le=MOST, description="Bytes of the whole file.")
    overwrite: bool = False
    id: Id | None = None


class UploadOut(Schema):
    """Where an upload stands: send the bytes from `offset` on, `piece` of them at most at once."""

    id: str
    offset: int
    piece: int = PIECE


class FinishIn(Schema):
    """All bytes are there."""

    path: Path
    size: int = Field(ge=0, le=MOST)
    digest: Digest = ""
    overwrite: bool = False


class StoredOut(Schema):
    """A file that has got its name."""

    path: str
    size: int
    digest: str


class CheckingOut(Schema):
    """All bytes of a large file are being read again; ask for its end once more in a moment."""

    checked: int = Field(description="Bytes that were read.")
    size: int


class MakeIn(Schema):
    """A folder to make."""

    path: Path
    parents: bool = Field(False, description="Those above it, too; one that is there is well.")


class RenameIn(Schema):
    """Another name or place."""

    path: Path
    to: Path


class UnpackIn(Schema):
    """A zip, and the folder it is unpacked into, which is not there yet."""

    path: Path
    to: Path


class UnpackedOut(Schema):
    """What came out of a zip: how many files and folders, how many bytes."""

    path: str
    files: int
    folders: int
    bytes: int


class RoomOut(Schema):
    """Bytes on the file system."""

    free: int
    total: int


class PersonGrowth(Schema):
    """How many bytes more (or fewer) of one uid; `login`: of who is or was in the project."""

    uid: int
    login: str | None
    bytes: int


class GrowthOut(Schema):
    """From the measurement of the day `since` to the one `at`, by one measurement a day."""

    since: date
    at: datetime
    bytes: int
    people: list[PersonGrowth]


class GrowthTold(Schema):
    """`growth` is null before there are two measurements within a week."""

    growth: GrowthOut | None


def entry_out(folder: str, one: Entry, owners: dict[int, User]) -> dict[str, Any]:
    """An entry as the API tells it."""
    owner = owners.get(one.uid)
    return {
        "name": one.shown, "path": query(join(folder, one.name)), "kind": KINDS.get(one.kind, "other"),
        "size": one.size,
        "changed_at": datetime.fromtimestamp(one.mtime, UTC) if 0 <= one.mtime < 2**33 else None,
        "owner": owner.username if owner else None,
    }  # fmt: skip
