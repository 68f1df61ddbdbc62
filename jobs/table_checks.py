"""The table of a sweep checked: the same columns in each row, plain values, short enough to reach every task."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from jobs import parameters, wrapping

Errors = dict[str, list[str]]
MOST_COLUMNS = 50
_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")


def check(raw: Mapping[str, Any], errors: Errors) -> tuple[dict[str, Any], ...]:
    """A row a task; every row has the same columns, a value is a number or one line of text."""
    rows = raw.get("parameters") or ()
    said = ""
    if not isinstance(rows, list | tuple) or not all(isinstance(row, Mapping) for row in rows):
        said = _("Give a list with one object a task.")
    elif len(rows) > settings.MAX_ARRAY_SIZE:
        said = _("At most %(n)d rows.") % {"n": settings.MAX_ARRAY_SIZE}
    elif wrong := [n for n, row in enumerate(rows, 1) if set(row) != set(rows[0]) or not _is_row(row)]:
        said = _("Row %(n)d: the same columns in every row, a number or a line of text in each.") % {"n": wrong[0]}
    elif rows:
        said = _table_fault(raw, rows)
    if said:
        errors["parameters"] = [said]
    return () if said else tuple(dict(row) for row in rows)


def _table_fault(raw: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """What stands in the way of giving each task its row as variables."""
    if len({parameters.variable(name) for name in rows[0]}) < len(rows[0]):
        return _("Two columns differ only in their case or signs.")
    script = str(raw.get("script") or "")
    most = parameters.LONGEST if wrapping.is_shell(script) else parameters.LONGEST_VARIABLE
    if len(json.dumps(list(rows))) > most:
        return _("The whole table has at most %(n)d KiB.") % {"n": most // 1024}
    return ""


def _is_row(row: Mapping[Any, Any]) -> bool:
    return 0 < len(row) <= MOST_COLUMNS and all(_is_cell(name, value) for name, value in row.items())


def _is_cell(name: Any, value: Any) -> bool:
    if not isinstance(name, str) or not _COLUMN.fullmatch(name):
        return False
    if isinstance(value, str):
        return len(value) <= 500 and value.isprintable()
    return isinstance(value, bool | int | float) and abs(value) < 1e300  # no NaN, no infinity: JSON has none
