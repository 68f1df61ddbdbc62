"""Paths in addresses: any bytes a file's name may have, there and back."""

from __future__ import annotations

import os
from urllib.parse import parse_qsl, quote

from django.http import HttpRequest
from django.urls import reverse

from files.answers import Refused

MOST_FIELDS = 30


def asked(request: HttpRequest, name: str = "path") -> str:
    """A path of the query, bytes that are no UTF-8 as surrogates; "" where there is none. Raises Refused."""
    try:
        pairs = parse_qsl(
            request.META.get("QUERY_STRING", ""), keep_blank_values=True, encoding="utf-8", errors="surrogateescape",
            max_num_fields=MOST_FIELDS,
        )  # fmt: skip
    except ValueError as error:
        raise Refused("bad-request") from error
    return next((value for key, value in pairs if key == name), "").strip("/")


def query(path: str) -> str:
    """A path as the value of a query."""
    return quote(os.fsencode(path), safe="/")


def address(name: str, code: str, path: str = "") -> str:
    """The address of one of the files' pages for a path."""
    return reverse(f"files:{name}", args=[code]) + (f"?path={query(path)}" if path else "")


def join(folder: str, name: str) -> str:
    """A name in a folder."""
    return f"{folder}/{name}" if folder else name


def above(path: str) -> str:
    """The folder above; "" is the root."""
    return path.rpartition("/")[0]
