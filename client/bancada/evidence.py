"""The rules of the evidence: records, the chain, checkpoints, bodies removed. Written anew from docs/sealing.md.

Only the standard library and `cryptography`, so that an auditor trusts no line of the portal.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .bodies import Bad, Gone, ranges
from .quick import EVENT, FIELDS, NULL, REMOVED, Seen, Stretch, quick

SCOPE = ("project_codes", "dataset_codes", "since", "until")
GENESIS = hashlib.sha256(b"bancada:genesis:1\n").digest()


@dataclasses.dataclass
class Report:
    """What was checked."""

    events: int = 0
    digests_only: int = 0
    removed: int = 0  # of them: bodies the sealer removed and named
    filter: dict[str, Any] = dataclasses.field(default_factory=dict)
    checkpoints: int = 0
    remembered: int = 0
    first: int = 0
    last: int = 0
    origin: str = ""
    begins_at_genesis: bool = False
    unsigned: int = 0  # records after the last signed checkpoint
    notes: list[str] = dataclasses.field(default_factory=list)  # what else was found

    def lines(self) -> Iterator[str]:
        """For a person."""
        yield f"trail of {self.origin}, records {self.first} to {self.last}"
        yield f"{self.events} events read and hashed, {self.digests_only} known by their digest only"
        if self.removed:
            yield f"{self.removed} of those lost their bodies by retention, each named in an event the sealer signed"
        if self.filter:
            yield f"the export was filtered ({self.filter}): only a whole one shows that nothing else lacks its body"
        for part in self.filter.get("scope") or []:
            yield "of a guest auditor's scope: " + ", ".join(f"{name} {part[name]}" for name in SCOPE if name in part)
        yield f"{self.checkpoints} signed checkpoints, {self.remembered} of them as remembered outside"
        if not self.begins_at_genesis:
            yield f"what lies before record {self.first} is vouched for by the first checkpoint only"
        if self.unsigned:
            yield f"the last {self.unsigned} records stand after the last signed checkpoint"
        yield from self.notes


def encoded(values: Iterable[str | None]) -> bytes:
    """Eight bytes of length before each value's UTF-8 text; NULL is eight bytes of 0xff."""
    parts = []
    for value in values:
        raw = None if value is None else value.encode()
        parts.append(NULL if raw is None else len(raw).to_bytes(8, "big") + raw)
    return b"".join(parts)


def digest_of(event: dict[str, Any]) -> bytes:
    """SHA-256 of an event's canonical bytes."""
    if set(event) != set(FIELDS):
        raise ValueError("an event has exactly the fields of version 1")
    values = [event[name] for name in FIELDS]
    if not all(value is None or isinstance(value, str) for value in values):
        raise ValueError("every value of an event is text or null")
    return hashlib.sha256(EVENT + encoded(values)).digest()


def verify(lines: Iterable[str], keys: Sequence[Ed25519PublicKey], remembered: Sequence[dict[str, Any]] = ()) -> Report:
    """Check an export line by line, in flat memory. Raises Bad; a report without records is no "ok"."""
    return verify_items((quick(line) or line for line in lines), keys, remembered)


def verify_items(
    items: Iterable[Stretch | str], keys: Sequence[Ed25519PublicKey], remembered: Sequence[dict[str, Any]] = ()
) -> Report:
    """The same with lines read already (`quick.items`)."""
    trail = _Trail({key_name(key): key for key in keys}, {int(one["seq"]): one for one in remembered})
    number = 1
    for item in items:
        if isinstance(item, Stretch):
            if not trail.is_within:
                raise Bad(f"line {number}: no header of an export, or something follows the end")
            trail.follow(number, item)
            number += len(item.events)
            continue
        if item.strip():
            trail.take(number, _parsed(number, item))
        number += 1
    return trail.end()


def key_name(key: Ed25519PublicKey) -> str:
    """The beginning of the digest of its 32 bytes."""
    return hashlib.sha256(_raw(key)).hexdigest()[:16]


def _parsed(number: int, line: str) -> dict[str, Any]:
    if not line.endswith("\n"):
        raise Bad(f"line {number}: cut off in the middle")
    try:
        found = json.loads(line, object_pairs_hook=_once)
    except ValueError as error:
        raise Bad(f"line {number}: not JSON ({error})") from None
    if not isinstance(found, dict):
        raise Bad(f"line {number}: not an object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name twice in one object")
    return found


def _raw(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def _number(seq: int, text: str) -> int:
    try:
        return int(text)
    except (TypeError, ValueError):
        raise Bad(f"record {seq}: its event has no number") from None


class _Trail:
    """The chain as far as it was read."""

    def __init__(self, keys: dict[str, Ed25519PublicKey], remembered: dict[int, dict[str, Any]]) -> None:
        self.keys, self.remembered = keys, remembered
        self.report, self.chain, self.seq = Report(), b"", -1
        self.ids = Seen()
        self.gone: dict[int, Gone] = {}  # removing record -> what is said to be removed by it
        self.removal = 0  # the last one that was needed
        self.signed = 0
        self.ended = False

    def take(self, number: int, line: dict[str, Any]) -> None:
        """One line: the header first, then records in order with checkpoints between, the end last."""
        if self.seq < 0:
            self._header(number, line)
        elif self.ended:
            raise Bad(f"line {number}: something follows the end")
        elif "checkpoint" in line:
            self._checkpoint(number, line["checkpoint"])
        elif "end" in line:
            self._end(number, line["end"])
        elif "person" not in line:  # who is who stands beside the trail and is not sealed
            self._record(number, line)

    def _header(self, number: int, line: dict[str, Any]) -> None:
        try:
            self.seq, self.chain = int(line["before"]["seq"]), bytes.fromhex(line["before"]["chain"])
            self.report.origin, self.report.filter = str(line["origin"]), dict(line.get("filter") or {})
        except (KeyError, TypeError, ValueError):
            raise Bad(f"line {number}: no header of an export") from None
        if line.get("bancada") != "trail" or line.get("version") != 1 or len(self.chain) != 32:
            raise Bad(f"line {number}: not an export of version 1")
        self.report.first = self.seq + 1
        self.report.begins_at_genesis = self.seq == 0
        if self.seq == 0 and self.chain != GENESIS:
            raise Bad("record 1: the trail does not begin at its beginning")
        self._compare(self.seq)

    @property
    def is_within(self) -> bool:
        """Whether the header was read, and the end not yet."""
        return self.seq >= 0 and not self.ended

    def follow(self, number: int, run: Stretch) -> None:
        """Records with their events, read, hashed and linked to each other already."""
        if run.first != self.seq + 1:
            raise Bad(f"record {self.seq + 1}: missing, for line {number} holds record {run.first}")
        twice = self.ids.first_again(run.events)
        if twice == 0:
            raise Bad(f"record {run.first}: the same event twice")
        self._link(run.first, run.chains[:32].hex(), run.digest)
        last = run.last if twice is None else run.first + twice - 1
        if self.remembered or self.gone:
            for seq in range(run.first + 1, last + 1):
                self._stand(seq, run.chains[32 * (seq - run.first) :][:32])
        if twice is not None:
            raise Bad(f"record {last + 1}: the same event twice")
        self.seq, self.chain = last, run.chains[-32:]
        self.report.events += len(run.events)

    def _record(self, number: int, line: dict[str, Any]) -> None:
        expected = self.seq + 1
        seq = line.get("seq")
        if seq != expected:
            raise Bad(f"record {expected}: missing, for line {number} holds record {seq}")
        digest = self._event(expected, line["event"]) if "event" in line else self._digest(expected, line)
        self._link(expected, line.get("chain"), digest)

    def _link(self, expected: int, said: Any, digest: bytes) -> None:
        chain = hashlib.sha256(self.chain + expected.to_bytes(8, "big") + digest).digest()
        if said is not None and said != chain.hex():
            raise Bad(f"record {expected}: it, or one before it, is not what was sealed")
        self._stand(expected, chain)

    def _stand(self, expected: int, chain: bytes) -> None:
        """The chain so far, compared with what is remembered, and with what is said of this record."""
        self.seq, self.chain = expected, chain
        if self.remembered:
            self._compare(expected)
        if expected in self.gone:
            raise Bad(
                f"record {self.gone[expected].first}: said to be removed by record {expected}, which removes nothing"
            )

    def _event(self, seq: int, event: Any) -> bytes:
        try:
            digest = digest_of(event)
        except (ValueError, TypeError, AttributeError) as error:
            raise Bad(f"record {seq}: {error}") from None
        if self.ids.again(_number(seq, event["id"])):
            raise Bad(f"record {seq}: the same event twice")
        self.report.events += 1
        if event["action"] == REMOVED:
            self._removal(seq, event)
        return digest

    def _removal(self, seq: int, event: dict[str, Any]) -> None:
        """The sealer signed which records it removed; what is said to be removed by it is just that."""
        gone = self.gone.pop(seq, None)
        try:
            said = json.loads(event["detail"])
            named, digest = ",".join(said["records"]), bytes.fromhex(said["digest"])
            words = b"bancada:removal:1\n" + encoded([self.report.origin, said["kind"], named, digest.hex()])
            self.keys[said["key"]].verify(bytes.fromhex(said["signature"]), words)
            numbers = list(ranges(named))
        except (KeyError, TypeError, ValueError, InvalidSignature):
            said = f"record {gone.first}: removed by record {seq}, which" if gone else f"record {seq}: a removal that"
            raise Bad(f"{said} no key you gave has signed") from None
        if gone is not None:
            gone.compare(seq, numbers, digest, whole=numbers[0][0] >= self.report.first)
            self.removal = seq

    def _digest(self, seq: int, line: dict[str, Any]) -> bytes:
        try:
            digest = bytes.fromhex(line["digest"])
        except (KeyError, TypeError, ValueError):
            raise Bad(f"record {seq}: neither event nor digest") from None
        if len(digest) != 32:
            raise Bad(f"record {seq}: no digest of 32 bytes")
        self.report.digests_only += 1
        if "removed" in line:
            by = line["removed"]
            if type(by) is not int or by <= seq:
                raise Bad(f"record {seq}: its event is gone, and no later record has removed it")
            self.gone.setdefault(by, Gone(seq)).add(seq, digest)
            self.report.removed += 1
        elif not self.report.filter:
            raise Bad(f"record {seq}: its event is not there, in an export without a filter")
        return digest

    def _checkpoint(self, number: int, said: Any) -> None:
        try:
            seq, chain, at = int(said["seq"]), bytes.fromhex(said["chain"]), int(said["at_us"])
            key, signature, origin = self.keys[said["key"]], bytes.fromhex(said["signature"]), str(said["origin"])
        except KeyError as missing:
            raise Bad(f"line {number}: a checkpoint by a key you did not give, or without {missing}") from None
        except (TypeError, ValueError):
            raise Bad(f"line {number}: no checkpoint") from None
        words = b"bancada:checkpoint:1\n" + encoded([origin, str(seq), chain.hex(), str(at)])
        try:
            key.verify(signature, words)
        except InvalidSignature:
            raise Bad(f"checkpoint of record {seq}: its signature is wrong") from None
        if origin != self.report.origin:
            raise Bad(f"checkpoint of record {seq}: of another portal, {origin}")
        if (seq, chain) != (self.seq, self.chain):
            raise Bad(f"checkpoint of record {seq}: the trail here is another than the one that was signed")
        self.report.checkpoints += 1
        self.signed = seq

    def _compare(self, seq: int) -> None:
        """With what the auditor kept outside."""
        kept = self.remembered.get(seq)
        if kept is not None:
            if kept.get("chain") != self.chain.hex():
                raise Bad(f"record {seq}: the trail is another than the one remembered outside")
            self.report.remembered += 1

    def _end(self, number: int, said: Any) -> None:
        if not isinstance(said, dict) or said.get("seq") != self.seq or said.get("chain") != self.chain.hex():
            raise Bad(f"line {number}: the export ends at another record than it says")
        self.ended = True

    def end(self) -> Report:
        """After the last line."""
        self.report.last = max(self.seq, 0)
        if self.seq < 0:
            return self.report
        if not self.ended:
            raise Bad(f"record {self.seq + 1}: the export is cut off after record {self.seq}")
        for by, gone in self.gone.items():
            raise Bad(f"record {gone.first}: its event is gone, and record {by}, said to have removed it, is not here")
        beyond = [seq for seq in self.remembered if seq > self.seq]
        if beyond:
            raise Bad(f"record {self.seq + 1}: missing, for you remember a checkpoint of record {max(beyond)}")
        if self.report.events + self.report.digests_only and not self.report.checkpoints:
            raise Bad(f"record {self.report.first}: no signed checkpoint covers it")
        if self.removal > self.signed:
            raise Bad(f"record {self.removal}: it removes events, and no signed checkpoint covers it")
        self.report.unsigned = self.seq - self.signed
        return self.report
