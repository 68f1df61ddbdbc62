"""Paths beneath a root as text (bytes that are no UTF-8 as surrogates), and what a new name may look like."""

from __future__ import annotations

import os
import unicodedata

MAX_PATH, MAX_NAME, MAX_DEPTH = 4096, 255, 64  # bytes, bytes, folders
PART = ".bancada-part-"  # how an upload is called until it is whole
# what turns the direction of text, or is not seen: two names that look alike, one that reads backwards
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d")  # part of ordinary words in some scripts, and of emoji


class BadName(ValueError):
    """A path that names nothing beneath a root, or a name nobody should make."""


def parts(path: str) -> list[str]:
    """The components of a path beneath a root; "" is the root itself. Raises BadName."""
    if not path:
        return []
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise BadName("not a file's name") from error
    found = path.split("/")
    if len(raw) > MAX_PATH or len(found) > MAX_DEPTH or b"\0" in raw:
        raise BadName("too long, too deep, or not a name")
    for part in found:
        if part in ("", ".", "..") or len(os.fsencode(part)) > MAX_NAME:
            raise BadName("not written in the one way beneath a folder")
    return found


def check_new(path: str) -> None:
    """Raise BadName unless the last component is a name one may give to something new."""
    *_, name = parts(path) or [""]
    if not name or name != name.strip() or name.startswith(PART):
        raise BadName("no name, or one that begins or ends with a space")
    if any(unicodedata.category(sign) in _HIDDEN and sign not in _JOINERS for sign in name):
        raise BadName("characters that cannot be seen")
    if len(os.fsencode(name)) > MAX_NAME:
        raise BadName("longer than a name may be")


def is_plain(name: str) -> bool:
    """Whether a name can be shown as it is."""
    return not any(unicodedata.category(sign) in _HIDDEN and sign not in _JOINERS for sign in name)


def shown(name: str) -> str:
    """A name as a page or a terminal may show it: what cannot be seen is written out, like \\x1b or \\u202e."""
    return "".join(sign if is_plain(sign) else _written(sign) for sign in name)


def _written(sign: str) -> str:
    number = ord(sign)
    if 0xDC80 <= number <= 0xDCFF:  # a byte that is no UTF-8
        return f"\\x{number - 0xDC00:02x}"
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
