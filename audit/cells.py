"""A cell of a table to take away: text to every spreadsheet, one line, nothing in it that cannot be seen."""

from __future__ import annotations

import re

# controls, marks of direction and of nothing, ends of line that are none in ASCII
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_TRIGGER = "=+\\-@|%\uff1d\uff0b\uff0d\uff20\uff5c\uff05"
# at the beginning, and wherever a reader that splits at another sign would begin a cell
_STARTS = re.compile(rf"(^|[;,|])([\s\"'`\u00a0\u3000]*)(?=[{_TRIGGER}])")
_LINE = re.compile("\r\n|\r|\n")


def cell(text: str) -> str:
    """As a cell that is text to every spreadsheet: an apostrophe before what would begin a formula."""
    plain = _CONTROL.sub(lambda found: rf"\u{ord(found[0]):04x}", text)
    return _STARTS.sub(r"\1'\2", plain)


def prose(text: str) -> str:
    """The same for what people wrote in several lines: each end of a line is a sign that shows it."""
    return cell(_LINE.sub(" \u21b5 ", text))
