"""The trail as evidence: JSON lines straight from PostgreSQL's COPY, in flat memory, the same for the same checkpoint.

A header says where the chain stood before, each record is an event (or, where a filter leaves it out, its digest),
checkpoints stand where they were signed, the last line says where it ends. `bancada-verify` reads it. A record whose
body retention removed says by which record it was; that one is always written out whole. Who is meant by a reference
stands beside the records it occurs in, as a line of its own that is not sealed: names may be replaced later.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from audit.models import AuditSeal, Checkpoint
from audit.services import canonical
from audit.services.wanted import Wanted

__all__ = ["AT_A_TIME", "NothingSealed", "Wanted", "beginning", "ending", "export", "records", "span"]

AT_A_TIME = 10_000  # records a statement: short enough for every time limit, some 8 MB of lines
_BREAK = "\x1e"  # between two lines of one row; JSON holds no such byte
_PLAIN = {"id", "uid"}  # always there, and of digits and letters only
_NUMBERS = {"actor_id", "actor_ref", "ran_as_ref", "subject_ref", "project_id", "address_ref"}


def _value(name: str, sql: str, comma: str) -> str:
    """One member of the event: `concat` of pieces costs half of what json_build_object does."""
    if name == "at":  # whole microseconds; exact in floating point for two more centuries, and far cheaper
        return f"'{comma}\"at\":\"', (date_part('epoch', e.at) * 1000000)::bigint, '\"'"
    column = f"e.{sql.removesuffix('::text')}"
    if name in _PLAIN:
        return f"'{comma}\"{name}\":\"', {column}, '\"'"
    if name in _NUMBERS:
        return f"'{comma}\"{name}\":', coalesce('\"' || {column} || '\"', 'null')"
    return f"'{comma}\"{name}\":', to_json(e.{sql})"


_EVENT = ", ".join(
    _value(name, sql, "," if place else "") for place, (name, sql) in enumerate(canonical.FIELDS.items())
)
_RECORDS = """
COPY (SELECT CASE WHEN e.id IS NOT NULL AND (({wanted}) OR e.action = 'trail.bodies_removed')
    THEN concat('{{"seq":', s.seq, ',"chain":"', encode(s.chain, 'hex'), '","event":{{', {event}, '}}}}')
    WHEN e.id IS NULL THEN concat('{{"seq":', s.seq, ',"digest":"', encode(s.digest, 'hex'), '","removed":',
      coalesce((SELECT b.by FROM audit_removedbody b WHERE b.seq = s.seq)::text, 'null'), '}}')
    ELSE concat('{{"seq":', s.seq, ',"digest":"', encode(s.digest, 'hex'), '"}}') END || coalesce({signed}, '')
  FROM audit_auditseal s LEFT JOIN audit_auditevent e ON e.id = s.event_id
  LEFT JOIN LATERAL (SELECT * FROM audit_checkpoint WHERE seq = s.seq AND id <= {upto} ORDER BY id LIMIT 1) c ON true
  WHERE s.seq > {first} AND s.seq <= {last} ORDER BY s.seq) TO STDOUT"""
_SIGNED = f"""CASE WHEN c.seq IS NOT NULL THEN concat(E'{_BREAK}', '{{"checkpoint":{{"origin":', to_json(%s::text),
  ',"seq":', c.seq, ',"chain":"', encode(c.chain, 'hex'), '","at_us":', (extract(epoch FROM c.at) * 1000000)::bigint,
  ',"key":', to_json(c.key_id), ',"signature":"', encode(c.signature, 'hex'), '"}}}}') END"""
# from seal to seal, looking each event up by its number: other plans read all of them, and sort
_OFF = ("enable_hashjoin", "enable_mergejoin", "enable_seqscan", "jit", "max_parallel_workers_per_gather")
_BY_NUMBER = "; ".join(f"SET LOCAL {name} = 0" for name in _OFF)
_IN_ORDER = f"{_BY_NUMBER}; SET LOCAL enable_bitmapscan = 0; SET LOCAL enable_sort = 0"
_PEOPLE = """
COPY (WITH shown AS (
    SELECT e.actor_ref, e.ran_as_ref, e.subject_ref, e.address_ref, e.detail
    FROM audit_auditseal s JOIN audit_auditevent e ON e.id = s.event_id
    WHERE s.seq > {first} AND s.seq <= {last} AND (({wanted}) OR e.action = 'trail.bodies_removed')),
  sets AS (SELECT DISTINCT actor_ref, ran_as_ref, subject_ref, address_ref FROM shown),
  refs AS (SELECT unnest(ARRAY[actor_ref, ran_as_ref, subject_ref, address_ref]) AS ref FROM sets
    UNION SELECT (found #>> '{{}}')::uuid FROM shown, jsonb_path_query(detail,
      '$.**.person ? (@ like_regex "^[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}$")') AS found
    WHERE detail::text LIKE '%%"person"%%')
  SELECT DISTINCT ON (ref) concat('{{"person":{{"ref":"', ref, '","kind":', to_json(kind), ',"value":', to_json(value),
    '}}}}') FROM audit_identity WHERE ref IN (SELECT ref FROM refs) {kinds} ORDER BY ref, id) TO STDOUT"""


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
    for first, end in span(after, last.seq):
        yield from records(wanted, first, end, last, whole=whole)
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
        "before": {"seq": after, "chain": chain.hex()},
    })  # fmt: skip


def ending(last: Checkpoint) -> bytes:
    """The last line; the checkpoint's own where there is no record it could stand after."""
    return _line({"end": {"seq": last.seq, "chain": bytes(last.chain).hex()}})


def records(wanted: Wanted, first: int, last: int, upto: Checkpoint, *, whole: bool = True) -> Iterator[bytes]:
    """The lines of these records and of the checkpoints between, then who they speak of; blocks of some 64 kB."""
    condition, values = wanted.sql()
    bounds = {"wanted": condition, "first": int(first), "last": int(last)}
    statement = _RECORDS.format(event=_EVENT, signed=_SIGNED, upto=int(upto.pk), **bounds)
    yield from _copied(statement, [*values, settings.PUBLIC_URL], _IN_ORDER)
    kinds = "" if whole else "AND kind <> 'address'"
    yield from _copied(_PEOPLE.format(kinds=kinds, **bounds), values, _BY_NUMBER)


def _copied(statement: str, values: list[Any], plan: str) -> Iterator[bytes]:
    """COPY doubles each backslash, and writes nothing else differently here: JSON holds no other byte it would."""
    rows: list[bytes] = []
    size = 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(plan)
        with cursor.copy(statement, values) as copied:
            for row in copied:
                rows.append(bytes(row))
                size += len(row)
                if size > 65_536:
                    yield _joined(rows)
                    rows, size = [], 0
    if rows:
        yield _joined(rows)


def _joined(rows: list[bytes]) -> bytes:
    return b"".join(rows).replace(b"\\\\", b"\\").replace(_BREAK.encode(), b"\n")


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"
