"""The one message between reader and opener: stream and ticket go in, a word and perhaps a descriptor come out."""

from __future__ import annotations

import array
import os
import socket
from pathlib import Path

from logs.tickets import MAX_TEXT

STREAMS = ("stdout", "stderr")
MAX_REQUEST = MAX_TEXT + 32  # bytes of one packet
ANSWERS = frozenset({"ok", "missing", "denied", "not-regular", "not-owner", "failed", "bad-ticket", "busy"})
_MAGIC = b"open1"


class BadRequest(Exception):
    """A packet that is not the one message."""


class OpenerDown(Exception):
    """The opener cannot be reached, gave no answer in time, or something unknown."""


def encode_request(stream: str, ticket: str) -> bytes:
    """The packet that asks for one stream of one ticket."""
    return b" ".join((_MAGIC, stream.encode(), ticket.encode()))


def decode_request(packet: bytes) -> tuple[str, str]:
    """Give (stream, ticket) of a packet; raises BadRequest."""
    parts = packet.split(b" ")
    if len(packet) > MAX_REQUEST or len(parts) != 3 or parts[0] != _MAGIC or not parts[2].isascii():
        raise BadRequest
    stream = parts[1].decode("ascii", "replace")
    if stream not in STREAMS:
        raise BadRequest
    return stream, parts[2].decode("ascii")


def ask(opener: Path, stream: str, ticket: str, *, timeout: float = 6.0) -> tuple[str, int]:
    """Ask the opener and wait (seconds): ("ok", descriptor) or (another of ANSWERS, -1). Raises OpenerDown."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(timeout)
            connection.connect(str(opener))
            connection.send(encode_request(stream, ticket))
            return _receive(connection)
    except OSError as error:
        raise OpenerDown(f"no answer from the log opener at {opener}: {error}") from error


def _receive(connection: socket.socket) -> tuple[str, int]:
    """One packet; any descriptor that does not come with "ok", or more than one, is closed again."""
    word, ancillary, _, _ = connection.recvmsg(32, socket.CMSG_SPACE(4 * 4), socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    answer = word.decode("ascii", "replace")
    if answer in ANSWERS and (answer == "ok") == (len(descriptors) == 1):
        return answer, descriptors[0] if descriptors else -1
    for descriptor in descriptors:
        os.close(descriptor)
    raise OpenerDown(f"the log opener answered {answer!r}")
