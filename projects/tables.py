"""A table as CSV for a spreadsheet: streamed, and no cell of it is ever taken for a formula."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone

from audit.cells import prose


class _Echo:
    """A file that hands back what is written."""

    def write(self, text: str) -> str:
        """The line itself."""
        return text


def cell(value: Any) -> Any:
    """Text a spreadsheet would calculate gets an apostrophe in front; numbers stay numbers."""
    if value is None:
        return ""
    return prose(value) if isinstance(value, str) else value


def lines(head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """CSV, line by line."""
    writer = csv.writer(_Echo())
    yield "\ufeff" + writer.writerow([cell(str(name)) for name in head])  # spreadsheets read UTF-8 only with the mark
    for row in rows:
        yield writer.writerow([cell(value) for value in row])


def of_today(what: str, head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> StreamingHttpResponse:
    """A download of what there is today; the day, on the site's clock, is in its name."""
    return response(f"bancada-{what}-{timezone.localdate():%Y-%m-%d}.csv", head, rows)


def response(name: str, head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> StreamingHttpResponse:
    """A download of this name."""
    answer = StreamingHttpResponse(lines(head, rows), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["Cache-Control"] = "no-store"
    return answer
