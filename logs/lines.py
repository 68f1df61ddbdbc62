"""Bytes of a log as lines and as text: pieces that join to the whole, progress bars folded, escapes taken out."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 16 * 1024  # bytes of one piece: a line without end is cut, never waited for

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor moves, clearing
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|\Z)"  # OSC (titles, clipboard, links), DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"  # every shorter one, and one cut off at the end
    r"|\x9b[0-?]*[ -/]*[@-~]"  # CSI as a single character
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def pieces(data: bytes, longest: int = LONGEST) -> Iterator[bytes]:
    """Cut at every line end, and lines longer than `longest` (at least 4) between characters. Joined: `data`."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start, start + longest) + 1
        if not end:
            end = min(len(data), start + longest)
            end = start + (whole(data[start:end]) or end - start) if end < len(data) else end
        yield data[start:end]
        start = end


def whole(data: bytes) -> int:
    """How many bytes from the start do not cut a UTF-8 character in two; what is no UTF-8 is never held back."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 2 if 0xC2 <= byte <= 0xDF else 3 if byte & 0xF0 == 0xE0 else 4 if 0xF0 <= byte <= 0xF4 else 1
        return len(data) - back if needed > back else len(data)
    return len(data)


def fold(data: bytes) -> bytes:
    """Keep of every line what stands after its last carriage return: the last state of a progress bar."""
    return b"\n".join(_last_state(line) for line in data.split(b"\n"))


def after_first_line(data: bytes) -> bytes:
    """What follows the first line end, for a tail that began in the middle of a line; all of it where there is none."""
    at = data.find(b"\n")
    return data[at + 1 :] if at >= 0 else data


def plain(data: bytes) -> str:
    """Text without escape sequences and control characters but tab and line end; what is no UTF-8 becomes U+FFFD."""
    text = data.replace(b"\r\n", b"\n").decode("utf-8", "replace")
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def _last_state(line: bytes) -> bytes:
    text = line.rstrip(b"\r")
    return text[text.rfind(b"\r") + 1 :] + line[len(text) :]
