"""A project's files from the command line: `bancada ls`, `bancada cp`, what goes with a job and comes back."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import hashlib
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple
from urllib.parse import quote

import httpx

from bancada import show
from bancada.api import Portal, Trouble

ROWS = 10_000  # of one answer
TRIES = 5  # of one piece
FIRST = 8 * 1024 * 1024  # bytes of an upload's first piece, and the fewest
SWIFT, SLOW = 2.0, 8.0  # seconds a piece takes for the next to be larger, or smaller
AGAIN = 2.0  # seconds until it is asked again whether a large file is checked
LONG = 90.0  # seconds the portal may take to unpack a zip, or to remove a folder with all in it
Say = Callable[[str], None]


class Place(NamedTuple):
    """A path in a project's folder."""

    project: str
    path: str

    @property
    def address(self) -> str:
        """Below the API's root."""
        return f"/projects/{quote(self.project, safe='')}/files"


def place(text: str) -> Place | None:
    """`project:path` as typed; None for a path on this machine."""
    project, colon, path = text.partition(":")
    if not colon or "/" in project or not project:
        return None
    return Place(project, path.strip("/"))


def listed(portal: Portal, where: Place) -> list[dict[str, Any]]:
    """All entries of a folder."""
    rows: list[dict[str, Any]] = []
    while True:
        page = portal.get(where.address, path=where.path, offset=len(rows), limit=ROWS)
        rows += page["items"]
        if not page["items"] or len(rows) >= page["total"]:
            return rows


def put(portal: Portal, source: Path, where: Place, *, overwrite: bool = False) -> None:
    """Bring one file in, in pieces; what does not come whole leaves nothing there."""
    asked = {"path": where.path, "size": source.stat().st_size, "overwrite": overwrite}
    uploads = f"{where.address}/uploads"
    with source.open("rb") as file:
        at = portal.call("POST", uploads, json=asked).json()
        try:
            _send(portal, uploads, asked, at, file)
        except BaseException:  # also where the person ends it: nobody goes on with it, and its bytes would count
            with contextlib.suppress(Trouble):
                portal.call("DELETE", f"{uploads}/{at['id']}", params={"path": where.path})
            raise


def _send(portal: Portal, uploads: str, asked: dict[str, Any], at: dict[str, Any], file: IO[bytes]) -> None:
    """All pieces, one that was lost on the way again from where the portal stands, and the end."""
    digest, step = hashlib.sha256(), min(FIRST, at["piece"])
    while at["offset"] < asked["size"]:
        data = file.read(min(step, asked["size"] - at["offset"]))
        if not data:
            raise Trouble(f"{file.name} became shorter while it was sent.")
        digest.update(data)
        began = time.monotonic()
        at = _piece(portal, uploads, asked, at, data)
        step = next_step(step, at["piece"], time.monotonic() - began)
    finish = asked | {"digest": digest.hexdigest()}
    while portal.call("POST", f"{uploads}/{at['id']}/finish", json=finish).status_code == httpx.codes.ACCEPTED:
        time.sleep(AGAIN)


def next_step(step: int, most: int, took: float) -> int:
    """Bytes of the next piece: few large ones on a swift line, and little to lose where a slow one breaks."""
    if took < SWIFT:
        return min(2 * step, most)
    return step if took < SLOW else min(max(step // 2, FIRST), most)


def _piece(portal: Portal, uploads: str, asked: dict[str, Any], at: dict[str, Any], data: bytes) -> dict[str, Any]:
    """Send it until the portal has it."""
    query = {"path": asked["path"], "offset": at["offset"], "digest": hashlib.sha256(data).hexdigest()}
    for attempt in range(1, TRIES + 1):
        try:
            return dict(portal.call("PUT", f"{uploads}/{at['id']}", params=query, content=data).json())
        except Trouble as trouble:
            if attempt == TRIES or trouble.status not in (0, 409, 502, 503):
                raise
        now = portal.call("POST", uploads, json=asked | {"id": at["id"]}).json()
        if now["offset"] == at["offset"] + len(data):
            return dict(now)
    raise AssertionError


def get(portal: Portal, where: Place, target: Path) -> None:
    """Take one file out; it has its name once it is whole."""
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
        try:
            for piece in portal.stream(f"{where.address}/content", path=where.path):
                file.write(piece)
            file.close()
            Path(file.name).replace(target)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def get_folder(portal: Portal, where: Place, target: Path) -> None:
    """Take a folder out: regular files and folders only, all of them beneath `target`."""
    with tempfile.TemporaryFile() as packed:
        for piece in portal.stream(f"{where.address}/tar", path=where.path):
            packed.write(piece)
        packed.seek(0)
        try:
            with tarfile.open(fileobj=packed) as tar:
                _check_whole(tar, packed)
                target.mkdir(parents=True, exist_ok=True)
                _unpack(tar, target)
        except tarfile.TarError as error:
            raise Trouble(f"{where.project}:{where.path} did not come whole.") from error


def _check_whole(tar: tarfile.TarFile, packed: IO[bytes]) -> None:
    """An archive ends with two blocks of zeros; one that breaks off between two files reads as if it ended there."""
    tar.getmembers()
    if packed.seek(0, os.SEEK_END) < tar.offset + 2 * tarfile.BLOCKSIZE:
        raise tarfile.ReadError("no end")


def _unpack(tar: tarfile.TarFile, target: Path) -> None:
    """Regular files and folders without the name of the folder that was asked for; no name leads out of `target`."""
    for member in tar:
        parts = PurePosixPath(member.name).parts[1:]
        if not parts or ".." in parts:
            continue
        below = target.joinpath(*parts)
        if member.isdir():
            below.mkdir(parents=True, exist_ok=True)
        elif member.isfile() and (packed := tar.extractfile(member)):
            below.parent.mkdir(parents=True, exist_ok=True)
            with below.open("wb") as file:
                shutil.copyfileobj(packed, file)
            below.chmod(0o755 if member.mode & 0o100 else 0o644)


def attach(portal: Portal, project: str, sources: list[str], name: str, say: Say) -> str:
    """Bring files and folders into a new folder of the project's, for one job; gives its path."""
    plain = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "_-") else "-" for sign in name)[:40]
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d-%H%M%S")
    folder = f"runs/{stamp}-{plain or 'job'}-{os.urandom(2).hex()}"
    where = Place(project, folder)
    alone = len(sources) == 1 and _is_zip(sources[0])
    made = "runs" if alone else folder
    portal.call("POST", f"{where.address}/folders", json={"path": made, "parents": True})
    try:
        for source in sources:
            if _is_zip(source):
                to = folder if alone else f"{folder}/{Path(source).stem}"
                _bring_packed(portal, Path(source), Place(project, to), say)
            else:
                _bring(portal, Path(source), where, recursive=True, overwrite=False, say=say)
    except Trouble:
        _away(portal, where)
        raise
    return folder


@contextlib.contextmanager
def kept_by_a_job(portal: Portal, project: str, folder: str) -> Iterator[None]:
    """Where the portal refuses the job, the folder made for it ("": none was) goes again."""
    try:
        yield
    except Trouble as trouble:
        if folder and 400 <= trouble.status < 500:
            _away(portal, Place(project, folder))
        raise


def _away(portal: Portal, where: Place) -> None:
    with contextlib.suppress(Trouble):
        portal.call("DELETE", where.address, params={"path": where.path, "whole": "true"}, timeout=LONG)


def _is_zip(source: str) -> bool:
    return source.lower().endswith(".zip") and Path(source).is_file()


def _bring_packed(portal: Portal, source: Path, where: Place, say: Say) -> None:
    """What is in a zip, into a folder that is not there yet; the zip itself does not stay."""
    parked = Place(where.project, f"{where.path}.zip")
    try:
        put(portal, source, parked)
    except OSError as error:
        raise Trouble(f"{source}: {error.strerror}") from error
    asked = {"path": parked.path, "to": where.path}
    try:
        made = portal.call("POST", f"{where.address}/unpack", json=asked, timeout=LONG).json()
    finally:
        portal.call("DELETE", where.address, params={"path": parked.path})
    say(f"{show.plain(source)}: {made['files']} files")


def _bring(portal: Portal, source: Path, where: Place, *, recursive: bool, overwrite: bool, say: Say) -> None:
    """One file, or a folder with all regular files in it; no link is followed."""
    try:
        if not source.is_dir():
            put(portal, source, Place(where.project, f"{where.path}/{source.name}".lstrip("/")), overwrite=overwrite)
            say(show.plain(source))
            return
    except OSError as error:
        raise Trouble(f"{source}: {error.strerror}") from error
    if not recursive:
        raise Trouble(f"{source} is a folder: say -r to copy it with all in it.")
    for root, _folders, files in os.walk(source):
        below = PurePosixPath(where.path, source.resolve().name, Path(root).relative_to(source).as_posix())
        portal.call("POST", f"{where.address}/folders", json={"path": str(below), "parents": True})
        for name in sorted(files):
            if (one := Path(root, name)).is_file() and not one.is_symlink():
                _bring(portal, one, Place(where.project, str(below)), recursive=False, overwrite=overwrite, say=say)


def ls(portal: Portal, options: argparse.Namespace) -> list[dict[str, Any]]:
    """What lies at `project:path`."""
    where = place(options.place)
    if where is None:
        raise Trouble("Say project:path.")
    return listed(portal, where)


def cp(portal: Portal, options: argparse.Namespace, say: Say) -> None:
    """From this machine into a project, or out of one."""
    target = place(options.target)
    sources = [(text, place(text)) for text in options.source]
    if target is not None and not any(source for _, source in sources):
        for text, _ in sources:
            _bring(portal, Path(text), target, recursive=options.recursive, overwrite=options.force, say=say)
    elif target is None and all(source for _, source in sources):
        for _, source in sources:
            if source is not None:
                _take(portal, source, Path(options.target), recursive=options.recursive)
    else:
        raise Trouble("One side is this machine, the other project:path.")


def _take(portal: Portal, source: Place, target: Path, *, recursive: bool) -> None:
    name = PurePosixPath(source.path).name or source.project
    try:
        if recursive:
            get_folder(portal, source, target / name)
        else:
            get(portal, source, target / name if target.is_dir() else target)
    except OSError as error:
        raise Trouble(f"{target}: {error.strerror}") from error
