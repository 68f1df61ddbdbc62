"""A job's output for a terminal: what it writes may colour the screen, and steer nothing else of it.

Into a pipe or a file its bytes go as they are.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
import unicodedata
from types import TracebackType
from typing import Self

_LONGEST = 1000  # characters of a title or the like, after which it is taken for text
_TITLE = rf"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c\r\n]{{0,{_LONGEST}}}"
_NUMBERS = r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}"
_SHORT = r"\x1b[ -/]{0,8}"
_SEQUENCE = re.compile(
    rf"(?P<cut>(?:{_NUMBERS}|{_TITLE}\x1b?|{_SHORT})\Z)"
    r"|(?P<colour>\x1b\[[0-9;:]{0,64}m)"
    rf"|{_NUMBERS}[@-~]?|{_TITLE}(?:\x07|\x1b\\|\x9c)?|{_SHORT}[0-~]"
)
_ODD = re.compile(r"[^\x20-\x7e\t\n\r\b]")
_RESET = b"\x1b[0m"


class Colours:
    """Takes an output piece by piece and gives what may be shown of it; where pieces are cut makes no difference."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._tail = ""  # a sequence whose end has not come yet; its length is bounded by the pattern
        self.seen = False

    def shown(self, data: bytes) -> str:
        """Text, tab, line ends, backspace and colours (SGR); other sequences and control characters are left out."""
        text, at, kept = self._tail + self._decoder.decode(data), 0, []
        self._tail = ""
        for found in _SEQUENCE.finditer(text):
            kept.append(_ODD.sub(_harmless, text[at : found.start()]))
            if found["colour"]:
                kept.append(found["colour"])
                self.seen = True
            elif found["cut"] is not None:
                self._tail = found["cut"]
            at = found.end()
        return "".join([*kept, _ODD.sub(_harmless, text[at:])])


def _harmless(found: re.Match[str]) -> str:
    char = found[0]
    return char if char.isprintable() or unicodedata.category(char) == "Zs" else ""


class Output:
    """Standard output for what a job wrote; at the end the terminal has its own colours again."""

    def __init__(self) -> None:
        self._colours = Colours() if sys.stdout.isatty() else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        if self._colours and self._colours.seen and kind is not BrokenPipeError:
            self._put(_RESET)

    def write(self, data: bytes) -> None:
        """The next bytes."""
        if self._colours:
            data = self._colours.shown(data).encode(sys.stdout.encoding or "ascii", "replace")
        self._put(data)

    def _put(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def dumped(answer: object) -> str:
    """An answer as JSON; on a terminal with what cannot be printed written out."""
    text = json.dumps(answer, indent=2, ensure_ascii=False)
    if not sys.stdout.isatty():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)
