"""Bytes that leave the portal: whole, a range of them, always as an attachment that runs nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header

from files.names import shown
from storage.services import looking

Response = TypeVar("Response", HttpResponse, StreamingHttpResponse)
_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})")


def ranged(taken: looking.Taken, name: str, first: int, last: int, *, partial: bool) -> StreamingHttpResponse:
    """A file's bytes with what HTTP says of a part."""
    size = taken.entry.size if taken.entry else 0
    response = attachment(taken, name)
    length = max(0, min(last + 1, size) - first)
    response["Accept-Ranges"], response["Content-Length"] = "bytes", str(length)
    if partial:
        response.status_code = 206 if length or not size else 416
        response["Content-Range"] = f"bytes {first}-{first + length - 1}/{size}" if length else f"bytes */{size}"
    return response


def attachment(pieces: Iterable[bytes], name: str) -> StreamingHttpResponse:
    """Bytes that leave the portal under a name."""
    response = StreamingHttpResponse(pieces, content_type="application/octet-stream")
    response["Content-Disposition"] = content_disposition_header(True, shown(name).replace("\\", "_")) or "attachment"
    response["X-Accel-Buffering"] = "no"
    return closed(response)


def closed(response: Response) -> Response:
    """Nothing of it runs, wherever it is opened."""
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def asked_range(text: str) -> tuple[int, int]:
    """(first, last) byte of a Range header with one range from a first byte on; everything where it is another."""
    found = _RANGE.fullmatch(text)
    if not found:
        return 0, looking.MOST - 1
    first, last = int(found[1]), int(found[2]) if found[2] else looking.MOST - 1
    return (first, last) if first <= last else (0, looking.MOST - 1)
