"""The trail as evidence: JSON lines straight from PostgreSQL's COPY, in flat memory, the same for the same checkpoint.

A header says where the chain stood before, each record is an event (or, where a filter leaves it out, its digest),
checkpoints stand where they were signed, the last line says where it ends. `bancada-verify` reads it. A record whose
body retention removed says by which record it was; that one is always written out whole, but for a guest auditor, whose
export has no event outside of the scope: there a record whose body is gone is a digest like the others. Who is meant
by a reference stands beside the records it occurs in, as a line of its own that is not sealed: names may be replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet

from access.compiled import Fixed
from audit.models import AuditSeal, Checkpoint
from audit.services import canonical, unseen
from audit.services.sealing import told
from audit.services.wanted import Wanted

__all__ = ["AT_A_TIME", "NothingSealed", "Wanted", "beginning", "ending", "export", "span", "statements"]

AT_A_TIME = 15_000  # records a statement: short enough for every time limit, some 12 MB of lines
# one row a record; an event that is not wanted, or not there, is NULL throughout, and `gone` says why
_FIELDS = ", ".join(
    f"e.{sql.removesuffix('::text')}" if name != "at" else "(date_part('epoch', e.at) * 1000000)::bigint"
    for name, sql in canonical.FIELDS.items()
)  # the same whole microseconds, exact in floating point for two more centuries, and far cheaper
_RECORDS = """
COPY (SELECT s.seq, encode(s.chain, 'hex'), {fields}, encode(CASE WHEN e.id IS NULL THEN s.digest END, 'hex'),
    {gone}
  FROM audit_auditseal s
  LEFT JOIN audit_auditevent e ON e.id = s.event_id AND (({wanted}){removals})
  WHERE s.seq > {first} AND s.seq <= {last} ORDER BY s.seq) TO STDOUT"""
_REMOVALS = " OR e.action = 'trail.bodies_removed'"
_GONE = """CASE WHEN e.id IS NULL THEN CASE WHEN EXISTS (SELECT FROM audit_auditevent o WHERE o.id = s.event_id) THEN ''
      ELSE coalesce((SELECT b.by FROM audit_removedbody b WHERE b.seq = s.seq)::text, 'null') END END"""
# from seal to seal, looking each event up by its number: other plans read all of them, and sort
_OFF = ("hashjoin", "mergejoin", "seqscan", "bitmapscan", "sort")
_IN_ORDER = "; ".join(f"SET LOCAL enable_{name} = 0" for name in _OFF) + (
    "; SET LOCAL jit = 0; SET LOCAL max_parallel_workers_per_gather = 0"
)
_NAMES = list(canonical.FIELDS)
_WHOLE = b'{"seq":%b,"chain":"%b","event":{' + b",".join(f'"{name}":"%b"'.encode() for name in _NAMES) + b"}}\n"
_ACTOR, _RAN_AS, _SUBJECT, _ADDRESS, _DETAIL = (
    2 + _NAMES.index(name) for name in ("actor_ref", "ran_as_ref", "subject_ref", "address_ref", "detail")
)
_END = 2 + len(_NAMES)
_COLUMNS = _END + 2
_ALIKE = _WHOLE[:-1] + b"%.0b%.0b\n"  # of a whole event, neither digest nor why it is gone
_NULL = b"\\N"
_PERSON = re.compile(rb'person\\": ?\\"([0-9a-f-]{36})\\"')
_PEOPLE = """
SELECT string_agg(concat('{{"person":{{"ref":"', ref, '","kind":', to_json(kind), ',"value":', to_json(value),
  E'}}}}\\n'), '' ORDER BY ref)
FROM (SELECT DISTINCT ON (ref) * FROM audit_identity WHERE ref = ANY(%s::uuid[]) {} ORDER BY ref, id) AS people"""
# what COPY leaves as it is, and JSON does not
_CONTROLS = bytes(number for number in range(32) if number not in (9, 10))
_TOGETHER = 100  # lines of a block, some 64 kB


class NothingSealed(Exception):
    """There is no checkpoint to export up to."""


def export(
    wanted: Wanted, *, after: int = 0, checkpoint: Checkpoint | None = None, whole: bool = True
) -> Iterator[bytes]:
    """The lines after record `after` up to a checkpoint (the last); `whole`: with addresses. Raises NothingSealed."""
    last = checkpoint or Checkpoint.objects.order_by("-seq", "-id").first()
    if last is None:
        raise NothingSealed
    yield beginning(wanted, after)
    for _end, blocks in statements(wanted, after, last, whole=whole):
        yield from blocks
        blocks.clear()  # before the next are made
    yield ending(last)


def span(after: int, last: int) -> Iterator[tuple[int, int]]:
    """The records of each statement, (first not included, last included); always cut at the same places."""
    while after < last:
        end = min(last, (after // AT_A_TIME + 1) * AT_A_TIME)
        yield after, end
        after = end


def beginning(wanted: Wanted, after: int) -> bytes:
    """The first line."""
    chain = bytes(AuditSeal.objects.get(seq=after).chain) if after else canonical.GENESIS
    return _line({
        "bancada": "trail", "version": 1, "origin": settings.PUBLIC_URL, "filter": wanted.plain(),
        "before": {"seq": after, "chain": chain.hex()}, "not_seen": unseen.WORDS,
    })  # fmt: skip


def ending(last: Checkpoint) -> bytes:
    """The last line; the checkpoint's own where there is no record it could stand after."""
    return _line({"end": {"seq": last.seq, "chain": bytes(last.chain).hex()}})


def statements(
    wanted: Wanted, after: int, last: Checkpoint, *, whole: bool = True
) -> Iterator[tuple[int, list[bytes]]]:
    """(last record, its lines and those before) of each statement: records, the checkpoints between, whom they mean."""
    for first, end in span(after, last.seq):
        yield end, _lines(wanted, first, end, last, whole=whole)


def _lines(wanted: Wanted, first: int, last: int, upto: Checkpoint, *, whole: bool) -> list[bytes]:
    """Blocks of some 64 kB; each is made while PostgreSQL fills the socket with the next."""
    signed = {row.seq: _line({"checkpoint": told(row)}) for row in _STOPS.all(first=first, last=last, upto=upto.pk)}
    refs: set[bytes] = set()
    blocks = [_block(rows, signed, refs) for rows in _rows(wanted, first, last)]
    return [*blocks, *_people(refs, whole=whole)]


def _rows(wanted: Wanted, first: int, last: int) -> Iterator[list[bytes]]:
    """The rows of COPY, some at a time. What has arrived is taken from libpq as it is: asking psycopg for each row
    costs more than all that PostgreSQL does for it."""
    condition, values = wanted.sql()
    gone, removals = (_GONE, _REMOVALS) if wanted.scope is None else ("''", "")
    statement = _RECORDS.format(
        fields=_FIELDS, wanted=condition, first=int(first), last=int(last), gone=gone, removals=removals
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_IN_ORDER)
        cursor.execute("SELECT count(*) FROM audit_auditseal WHERE seq > %s AND seq <= %s", [first, last])
        surely = cursor.fetchone()[0] - 1  # the last row, and the end, are psycopg's
        link, found = connection.connection.pgconn, list[bytes]()
        with cursor.copy(statement, values) as rows:
            for _ in range(surely):
                size, row = link.get_copy_data(1)
                found.append(row if size > 0 else rows.read())
                if len(found) == _TOGETHER:
                    yield found
                    found = []
            found.extend(rows)
        yield found


def _stops(first: int, last: int, upto: int) -> QuerySet[Checkpoint]:
    """One for each record at which one was signed; the idle ones between say nothing new."""
    rows = Checkpoint.objects.filter(seq__gt=first, seq__lte=last, id__lte=upto)
    return rows.order_by("seq", "id").distinct("seq")


_STOPS = Fixed(_stops)


def _block(rows: list[bytes], signed: dict[int, bytes], refs: set[bytes]) -> bytes:
    """Whole lines. COPY's escapes are those of JSON, but for quotes, NULL and some controls. `refs` gathers whom."""
    raw = b"".join(rows)
    odd = b"\\v" in raw or len(raw.translate(None, _CONTROLS)) != len(raw)
    parts = raw.replace(b'"', b'\\"').replace(b"\n", b"\t").split(b"\t")[:-1]
    if odd or _NULL in parts[2::_COLUMNS] or not signed.keys().isdisjoint(map(int, parts[::_COLUMNS])):
        lines = _one_by_one(parts, signed, refs, odd=odd)
    else:
        _gather(parts, refs)
        lines = _ALIKE * len(rows) % tuple(parts)
    return lines.replace(b'"\\N"', b"null")


def _gather(parts: list[bytes], refs: set[bytes]) -> None:
    for place in (_ACTOR, _RAN_AS, _SUBJECT, _ADDRESS):
        refs.update(parts[place::_COLUMNS])
    refs.update(_PERSON.findall(b"\n".join(parts[_DETAIL::_COLUMNS])))


def _one_by_one(parts: list[bytes], signed: dict[int, bytes], refs: set[bytes], *, odd: bool) -> bytes:
    """Where not every record is an event without oddities, or a checkpoint stands between."""
    lines = []
    for first in range(0, len(parts), _COLUMNS):
        lines.append(_record(parts[first : first + _COLUMNS], refs, odd=odd))
        lines.append(signed.get(int(parts[first]), b""))
    return b"".join(lines)


def _record(parts: list[bytes], refs: set[bytes], *, odd: bool) -> bytes:
    if parts[2] == _NULL:
        return _digest(parts)
    _gather(parts, refs)
    return _WHOLE % tuple([_escaped(part) for part in parts[:_END]] if odd else parts[:_END])


def _digest(parts: list[bytes]) -> bytes:
    digest, gone = parts[_END:]
    removed = b',"removed":%b' % gone if gone else b""
    return b'{"seq":%b,"digest":"%b"%b}\n' % (parts[0], digest, removed)


def _escaped(part: bytes) -> bytes:
    """With the vertical tab, and controls that COPY writes as they are, as JSON has them."""
    halves = part.split(b"\\\\")  # a backslash is two, here as there
    plain = b"\\\\".join(half.replace(b"\\v", b"\\u000b") for half in halves)
    return b"".join(b"\\u%04x" % byte if byte < 32 else bytes((byte,)) for byte in plain)


def _people(refs: set[bytes], *, whole: bool) -> Iterator[bytes]:
    """Who is meant, by name, in the order of references."""
    known = b"{%b}" % b",".join(refs - {_NULL})  # as PostgreSQL writes an array: psycopg takes long for so many
    with connection.cursor() as cursor:
        cursor.execute(_PEOPLE.format("" if whole else "AND kind <> 'address'"), [known.decode()])
        lines = cursor.fetchone()[0]
    if lines:
        yield lines.encode()


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"
