"""What a page shows of a file: text, tables, JSON, notebooks as text, images by their first bytes; no markup."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from typing import Any

from files.client import Entry
from files.names import is_plain
from storage.services.looking import CHECKPOINTS, MOST_IMAGE, SHOWN

IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"),
)  # fmt: skip
ROWS, COLUMNS, CELL = 200, 40, 300
CELLS = 200  # of a notebook


@dataclasses.dataclass(frozen=True, slots=True)
class Preview:
    """kind: image, table, text, notebook, empty, binary; `cut`: the file is longer than what is shown."""

    kind: str
    text: str = ""
    rows: list[list[str]] = dataclasses.field(default_factory=list)
    cells: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)  # kind, source, output
    cut: bool = False


def image_type(data: bytes) -> str:
    """The type of an image a browser may draw, by its first bytes and never by its name; "" where it is none."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in IMAGES if data.startswith(start)), "")


def is_checkpoint(name: str) -> bool:
    """Whether a name is one that trainings give their checkpoints."""
    return name.lower().endswith(CHECKPOINTS)


def preview(entry: Entry, data: bytes) -> Preview:
    """What to show of a file whose first bytes these are."""
    name, cut = entry.name.lower(), entry.size > len(data)
    if not data:
        return Preview("empty")
    if image_type(data) and entry.size <= MOST_IMAGE:
        return Preview("image")
    if b"\0" in data[:8192] or is_checkpoint(name):
        return Preview("binary")
    text = data.decode("utf-8", "replace")
    if cut:
        text = text[: text.rfind("\n") + 1] or text
    if name.endswith((".csv", ".tsv")):
        return Preview("table", rows=_table(text, "\t" if name.endswith(".tsv") else ","), cut=cut)
    if name.endswith(".ipynb") and not cut and (cells := _notebook(text)):
        return Preview("notebook", cells=cells)
    if name.endswith(".json") and not cut:
        text = _pretty(text)
    return Preview("text", text=visible(text), cut=cut)


def visible(text: str) -> str:
    """Text without what moves a cursor or turns its direction: such a character is shown as a sign of its own."""
    plain = text.replace("\r\n", "\n")
    if plain.isascii() and plain.isprintable():
        return plain
    return "".join(sign if sign in "\n\t" or is_plain(sign) else "\ufffd" for sign in plain)


def _table(text: str, comma: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text), delimiter=comma):
            rows.append([visible(cell[:CELL]) for cell in row[:COLUMNS]])
            if len(rows) > ROWS:
                break
    except csv.Error:
        pass  # what was read until there is shown
    return rows


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)[: 2 * SHOWN]
    except (ValueError, RecursionError):
        return text


def _notebook(text: str) -> list[tuple[str, str, str]]:
    """Each cell's kind, source and text output; what is no text (images, HTML) is left out."""
    try:
        cells = json.loads(text)["cells"][:CELLS]
        return [(str(one["cell_type"]), visible(_joined(one.get("source"))), visible(_output(one))) for one in cells]
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return []


def _output(cell: dict[str, Any]) -> str:
    texts = []
    for one in cell.get("outputs") or []:
        texts.append(_joined(one.get("text") or (one.get("data") or {}).get("text/plain") or one.get("evalue")))
    return "\n".join(filter(None, texts))[:20_000]


def _joined(value: Any) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")
