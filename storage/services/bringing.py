"""Files that come along with something else: into a new folder, all of them or none; a zip is unpacked in it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import structlog
from django.core.files.uploadedfile import UploadedFile

from accounts.models import User
from files.answers import Refused
from files.names import BadName, check_new, parts
from projects.models import Project
from storage.reaching import above, join
from storage.services import changing
from storage.words import FAILURES

log = structlog.get_logger(__name__)
MOST_FILES = 100  # of one request; more than these come in a zip
MOST_BYTES = 64 * 1024 * 1024  # of all of them: what is larger goes up in pieces, on the project's files
CHUNK = 256 * 1024


class NotBrought(Exception):
    """Which file is in the way ("" for all of them), and why: one of storage.words.FAILURES."""

    def __init__(self, name: str, why: Exception) -> None:
        super().__init__(f"{name}: {why}")
        self.name, self.why = name, why


class TooMuch(Exception):
    """More files, or more bytes, than one request brings."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sent:
    """One file as it came: its path beneath the new folder, its size, its bytes (read once)."""

    path: str
    size: int
    data: Iterable[bytes]

    @property
    def is_zip(self) -> bool:
        """By its name; the door looks whether it is one."""
        return self.path.lower().endswith(".zip")


def sent(files: Sequence[UploadedFile], paths: str) -> list[Sent]:
    """What a form sent. `paths`: JSON, the path of each from the folder on that was dropped; their names without it."""
    known = announced(paths)
    names = [one.path for one in known] if len(known) == len(files) else [one.name or "" for one in files]
    return [Sent(name, one.size or 0, one.chunks(CHUNK)) for name, one in zip(names, files, strict=True)]


def announced(paths: str) -> list[Sent]:
    """What a form says that it will send, by the same JSON: no sizes and no bytes; nothing where it is none."""
    try:
        known = json.loads(paths) if paths else []
    except (ValueError, RecursionError):
        return []
    fit = isinstance(known, list) and all(isinstance(one, str) for one in known)
    return [Sent(one, 0, ()) for one in known] if fit else []


def check(files: Sequence[Sent]) -> None:
    """Before anything is made. Raises NotBrought, TooMuch."""
    if len(files) > MOST_FILES or sum(one.size for one in files) > MOST_BYTES:
        raise TooMuch
    seen: set[str] = set()
    for one in files:
        try:
            for part in parts(one.path) or [""]:
                check_new(part)
        except BadName as error:
            raise NotBrought(one.path, Refused("bad-name")) from error
        if one.path in seen:
            raise NotBrought(one.path, Refused("exists"))
        seen.add(one.path)


@contextlib.contextmanager
def folder(*, project: Project, by: User, path: str, files: Sequence[Sent]) -> Iterator[None]:
    """A new folder with these files in it, which goes again where what is done meanwhile fails.

    Raises Refused("exists") where it is there already, NotBrought, and of FAILURES what concerns no single file.
    """
    _make(project, by, above(path))
    changing.make(project=project, by=by, path=path)
    try:
        _fill(project, by, path, files)
        yield
    except BaseException:
        _away(project, by, path)
        raise


def _fill(project: Project, by: User, path: str, files: Sequence[Sent]) -> None:
    for beneath in sorted({above(one.path) for one in files} - {""}):
        _make(project, by, join(path, beneath))
    for one in files:
        try:
            changing.put(project=project, by=by, path=join(path, one.path), size=one.size, data=one.data)
            if one.is_zip:
                _unpack(project, by, join(path, one.path))
        except FAILURES as error:
            raise NotBrought(one.path, error) from error


def _make(project: Project, by: User, path: str) -> None:
    """With those above it; one that is there is well."""
    try:
        changing.make(project=project, by=by, path=path, parents=True)
    except FAILURES as error:
        raise NotBrought(path, error) from error


def _unpack(project: Project, by: User, path: str) -> None:
    """What is in it, beside where it lay; the zip itself does not stay."""
    changing.unpack(project=project, by=by, path=path, to=unpacked(path))
    changing.delete(project=project, by=by, path=path)


def unpacked(path: str) -> str:
    """The folder that a zip becomes: jobs start in it, so its name is plain."""
    return join(above(path), plain(path.rpartition("/")[2][: -len(".zip")]) or "files")


def plain(name: str) -> str:
    """A name as Slurm and every shell take it without further ado; "" where nothing of it is left."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_.+]+", "-", letters).strip("-.+")[:40]


def _away(project: Project, by: User, path: str) -> None:
    try:
        changing.delete(project=project, by=by, path=path, whole=True)
    except FAILURES as error:
        log.warning("a folder stays without its job", path=path, why=type(error).__name__)
