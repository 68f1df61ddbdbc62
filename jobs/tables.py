"""Variables and parameters as people type them: `NAME=value` a line, and a table with commas."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _


class Unreadable(ValueError):
    """What was typed is no such table; says which line."""


def variables(text: str) -> dict[str, str]:
    """Of lines NAME=value; empty lines count for nothing. Raises Unreadable."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        name, sign, value = line.partition("=")
        if not line.strip():
            continue
        if not sign:
            raise Unreadable(_("Line %(n)d: write NAME=value.") % {"n": number})
        if name.strip() in found:
            raise Unreadable(_("Line %(n)d: %(name)s is there twice.") % {"n": number, "name": name.strip()})
        found[name.strip()] = value
    return found


def variables_text(found: Mapping[str, str]) -> str:
    """The other way round."""
    return "\n".join(f"{name}={value}" for name, value in found.items())


def parameters(text: str) -> list[dict[str, Any]]:
    """Rows of a table with commas whose first row names the columns. Raises Unreadable."""
    rows = [row for row in csv.reader(io.StringIO(text.strip().replace("\r\n", "\n"))) if row]
    if not rows:
        return []
    names = [name.strip() for name in rows[0]]
    if len(set(names)) < len(names) or not all(names):
        raise Unreadable(_("The first row names the columns, each by another name."))
    if len(rows) == 1:
        raise Unreadable(_("There is no row below the names."))
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            said = _("Row %(n)d has %(found)d values for %(wanted)d names.")
            raise Unreadable(said % {"n": number, "found": len(row), "wanted": len(names)})
    return [dict(zip(names, map(_value, row), strict=True)) for row in rows[1:]]


def parameters_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """The other way round."""
    out, all_of_them = io.StringIO(), list(rows)
    if all_of_them:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([list(all_of_them[0]), *(row.values() for row in all_of_them)])
    return out.getvalue()


def _value(text: str) -> Any:
    """A number where it is one that comes back as it was typed."""
    plain = text.strip()
    for kind in (int, float):
        try:
            number: Any = kind(plain)
        except ValueError:
            continue
        if str(number) == plain:
            return number
    return plain
