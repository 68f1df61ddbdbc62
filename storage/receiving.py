"""Bytes that come in as the body of a request: a piece of an upload."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest

from access.numbers import whole
from files.answers import Refused
from storage.services.changing import CHUNK, PIECE, measured


def piece_of(request: HttpRequest) -> tuple[int, Iterator[bytes]]:
    """(size, bytes) of the piece that a request's body is; it is read as it is passed on. Raises Refused."""
    size = whole(request.headers.get("Content-Length", ""), digits=9) or 0
    if not 0 < size <= PIECE:
        raise Refused("too-large" if size else "bad-request")
    return size, measured(iter(lambda: request.read(CHUNK), b""), size)
