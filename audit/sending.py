"""A file of an export as an HTTP answer: whole, or from where an earlier download broke off; known by its digest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from audit.models import Export
from audit.models.export import Form

TYPES = {Form.JSONL: "application/x-ndjson", Form.OCSF: "application/x-ndjson", Form.ECS: "application/x-ndjson",
         Form.CSV: "text/csv; charset=utf-8", Form.BUNDLE: "application/zip"}  # fmt: skip
_RANGE = re.compile(r"^bytes=(\d{0,18})-(\d{0,18})$")
BLOCK = 1 << 18


def streamed(row: Export, blocks: Iterator[bytes]) -> HttpResponseBase:
    """While it is made; its length is not known yet, so it cannot be resumed, only asked for again."""
    return _attached(StreamingHttpResponse(blocks), row)


def file(request: HttpRequest, row: Export) -> tuple[HttpResponseBase, int]:
    """(the answer, its first byte). A range that is none of this file is 416; one of another file is the whole."""
    size, etag = row.path.stat().st_size, f'"{row.digest}"'
    if etag in [part.strip() for part in request.headers.get("If-None-Match", "").split(",")]:
        return _known(HttpResponse(status=304), etag), 0
    asked = request.headers.get("Range", "")
    whole = not _RANGE.match(asked) or request.headers.get("If-Range", etag) != etag
    first, last = (0, size - 1) if whole else _bounds(asked, size)
    if first > last and size:
        answer: Any = HttpResponse(status=416)
        answer["Content-Range"] = f"bytes */{size}"
        return _known(answer, etag), 0
    answer = StreamingHttpResponse(_part(row.path, first, last), status=200 if whole else 206)
    if not whole:
        answer["Content-Range"] = f"bytes {first}-{last}/{size}"
    answer["Content-Length"] = str(last - first + 1)
    return _known(_attached(answer, row), etag), first


def _bounds(asked: str, size: int) -> tuple[int, int]:
    """First and last byte; first > last where there is nothing to send."""
    found = _RANGE.match(asked)
    first, last = found.groups() if found else ("", "")
    if not first:
        length = int(last or 0)
        return (max(0, size - length), size - 1) if length else (1, 0)
    return int(first), min(int(last) if last else size - 1, size - 1)


def _part(path: Path, first: int, last: int) -> Iterator[bytes]:
    left = last - first + 1
    with path.open("rb") as file:
        file.seek(first)
        while left > 0 and (block := file.read(min(BLOCK, left))):
            left -= len(block)
            yield block


def _attached(answer: Any, row: Export) -> Any:
    answer["Content-Type"] = TYPES[Form(row.form)]
    answer["Content-Disposition"] = f'attachment; filename="{row.file_name}"'
    answer["Cache-Control"] = "private, no-store"
    return answer


def _known(answer: Any, etag: str) -> Any:
    answer["ETag"], answer["Accept-Ranges"] = etag, "bytes"
    return answer
