"""An export piece by piece: each piece is the lines of some records, and always the same bytes."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator

from audit.models import Checkpoint
from audit.models.export import Export, Form
from audit.services import exporting
from audit.services.exports.reading_copies import copies, heading
from audit.services.wanted import Wanted

AT_A_TIME = 5_000  # records of a copy at a time: they pass through Python
EVIDENCE = (Form.JSONL, Form.BUNDLE)
_EVENT = b'"event":{'  # inside a value the quote would be escaped


@dataclasses.dataclass(frozen=True, slots=True)
class Piece:
    """Bytes to append, the record they reach to, and how many events are in them."""

    data: bytes
    upto: int
    count: int


def pieces(export: Export, *, done: int | None = None) -> Iterator[Piece]:
    """What is still to be written after record `done`; None: from the beginning."""
    made = _evidence(export, done) if export.form in EVIDENCE else _copies(export, done)
    return (_packed(piece) for piece in made) if export.form == Form.BUNDLE else made


def _evidence(export: Export, done: int | None) -> Iterator[Piece]:
    wanted, last = Wanted.from_plain(export.wanted), export.checkpoint
    if done is None:
        yield Piece(exporting.beginning(wanted, export.after), export.after, 0)
    after = export.after if done is None else done
    for end, blocks in exporting.statements(wanted, after, last, whole=export.whole):
        yield from _gathered(blocks, end)
    yield Piece(exporting.ending(last), export.last, 0)


def _gathered(blocks: list[bytes], end: int) -> Iterator[Piece]:
    """All blocks of one statement as one piece: what is written down of progress is whole statements."""
    data = b"".join(blocks)
    blocks.clear()
    yield Piece(data, end, data.count(_EVENT))


def _copies(export: Export, done: int | None) -> Iterator[Piece]:
    wanted, after = Wanted.from_plain(export.wanted), export.after if done is None else done
    if done is None:
        yield Piece(heading(export.form, wanted, export.checkpoint), export.after, 0)
    while after < export.last:
        end = min(export.last, after + AT_A_TIME)
        data, count = copies(export.form, wanted, after, end, whole=export.whole)
        yield Piece(data, end, count)
        after = end


def _packed(piece: Piece) -> Piece:
    """A gzip member of its own: members one after the other are one file, cut anywhere between."""
    packer = zlib.compressobj(4, zlib.DEFLATED, 31)  # 31: with a gzip frame, whose time is zero
    return Piece(packer.compress(piece.data) + packer.flush(), piece.upto, piece.count)


def last_checkpoint() -> Checkpoint | None:
    """What an export reaches to where nothing else is said."""
    return Checkpoint.objects.order_by("-seq", "-id").first()
