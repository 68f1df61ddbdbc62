"""The packets between portal and door: one kind byte and a body, on a socket that keeps packets apart."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Mapping, Sequence
from typing import Any

TICKET, QUESTION, ANSWER, DATA, END, REFUSAL = b"t", b"q", b"a", b"d", b"e", b"x"
PIECE = 128 * 1024  # bytes of one data packet
MAX_PACKET = PIECE + 1
MOST = 2**63 - 1
_ID = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"([0-9a-f]{64})?")
_STAMP = re.compile(r"[0-9a-f.-]{1,100}")

# operation -> its fields; those of CHANGES need a ticket that gives the right to change
QUESTIONS: dict[str, dict[str, type]] = {
    "list": {"path": str, "offset": int, "limit": int, "order": str},
    "stat": {"path": str},
    "read": {"path": str, "offset": int, "limit": int},
    "tar": {"path": str},
    "walk": {"path": str, "uid": int, "since": int, "until": int, "endings": str, "limit": int},
    "space": {"path": str},
    "census": {"path": str, "since": int},
    "make": {"path": str, "parents": bool},
    "begin": {"path": str, "id": str, "size": int, "overwrite": bool},
    "piece": {"path": str, "id": str, "offset": int, "size": int, "digest": str},
    "check": {"path": str, "id": str, "size": int, "digest": str, "overwrite": bool},
    "finish": {"path": str, "id": str, "stamp": str, "overwrite": bool},
    "abandon": {"path": str, "id": str},
    "rename": {"path": str, "to": str},
    "delete": {"path": str, "whole": bool},
    "unpack": {"path": str, "to": str},
}
CHANGES = frozenset({"make", "begin", "piece", "check", "finish", "abandon", "rename", "delete", "unpack"})
ORDERS = frozenset({"name", "-name", "size", "-size", "time", "-time"})


class BadPacket(Exception):
    """Not a packet of ours, or not in this place."""


class Gone(Exception):
    """The other end has hung up or is silent."""


def pack(values: Mapping[str, Any]) -> bytes:
    """JSON in ASCII: bytes of names that are no UTF-8 travel as lone surrogates."""
    return json.dumps(values, separators=(",", ":"), ensure_ascii=True).encode()


def unpack(body: bytes) -> dict[str, Any]:
    """Raises BadPacket unless it is one JSON object."""
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadPacket("not JSON") from error
    if not isinstance(values, dict):
        raise BadPacket("not an object")
    return values


def question(body: bytes) -> tuple[str, dict[str, Any]]:
    """(operation, its fields), each of its type and range. Raises BadPacket."""
    values = unpack(body)
    operation = values.pop("op", None)
    fields = QUESTIONS.get(operation) if isinstance(operation, str) else None
    if fields is None or values.keys() != fields.keys():
        raise BadPacket("not one of the operations, or not with its fields")
    for name, kind in fields.items():
        if type(values[name]) is not kind:
            raise BadPacket(f"{name} is not {kind.__name__}")
        if kind is int and not 0 <= values[name] <= MOST:
            raise BadPacket(f"{name} is out of range")
    _check_forms(values)
    return str(operation), values


def _check_forms(values: Mapping[str, Any]) -> None:
    if not _ID.fullmatch(values.get("id", "0" * 32)) or not _DIGEST.fullmatch(values.get("digest", "")):
        raise BadPacket("not the form of an upload or a digest")
    if not _STAMP.fullmatch(values.get("stamp", "0")):
        raise BadPacket("not the form of a stamp")
    if values.get("order", "name") not in ORDERS:
        raise BadPacket("no such order")


class Channel:
    """One end of a connection: packets out and in, each within `patience` seconds."""

    def __init__(self, connection: socket.socket, *, patience: float) -> None:
        self._connection, self.patience = connection, patience
        connection.settimeout(patience)

    def send(self, kind: bytes, body: bytes | memoryview = b"", descriptors: Sequence[int] = ()) -> None:
        """Raises Gone. `descriptors` go along and stay open here."""
        try:
            if descriptors:
                socket.send_fds(self._connection, [kind, body], list(descriptors))
            else:
                self._connection.sendmsg([kind, body])
        except OSError as error:
            raise Gone(str(error)) from error

    def receive(self) -> tuple[bytes, memoryview]:
        """(kind, body). Raises Gone; a packet longer than one may be is BadPacket. Descriptors do not come in."""
        try:
            packet, _, flags, _ = self._connection.recvmsg(MAX_PACKET)
        except OSError as error:
            raise Gone(str(error)) from error
        return _opened(packet, flags)

    def receive_with(self) -> tuple[bytes, memoryview, list[int]]:
        """(kind, body, the one descriptor that came along, or none)."""
        try:
            packet, descriptors, flags, _ = socket.recv_fds(self._connection, MAX_PACKET, 1, socket.MSG_CMSG_CLOEXEC)
        except OSError as error:
            raise Gone(str(error)) from error
        try:
            return *_opened(packet, flags), descriptors
        except BaseException:
            for one in descriptors:
                os.close(one)
            raise

    def expect(self, kind: bytes) -> memoryview:
        """The body of a packet that must be of this kind."""
        got, body = self.receive()
        if got != kind:
            raise BadPacket(f"{got!r} where {kind!r} was due")
        return body


def _opened(packet: bytes, flags: int) -> tuple[bytes, memoryview]:
    if not packet:
        raise Gone("hung up")
    if flags & socket.MSG_TRUNC:
        raise BadPacket("longer than a packet may be")
    return packet[:1], memoryview(packet)[1:]
