"""Where checkpoints go so that nobody on this host can take them back: a file, syslog over TLS (RFC 5424), mail."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from access import tls

DEADLINE = 5.0
PRIORITY = 13 * 8 + 5  # facility "log audit", severity "notice"


def _to_file(lines: list[str]) -> None:
    """Appended and on the disk before we go on; the file may lie on a mount of another host."""
    handle = os.open(Path(settings.SEAL_FILE), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, "".join(f"{line}\n" for line in lines).encode())
        os.fsync(handle)
    finally:
        os.close(handle)


def _to_syslog(lines: list[str]) -> None:
    """A connection of its own each minute: one that was cut in between is not noticed before it is used."""
    where = urlsplit(settings.SEAL_SYSLOG)
    message = b"".join(framed(line, at=datetime.now(UTC), host=socket.gethostname()) for line in lines)
    with (
        socket.create_connection((where.hostname, where.port or 6514), timeout=DEADLINE) as plain,
        tls.context(settings.SEAL_SYSLOG_CA).wrap_socket(plain, server_hostname=where.hostname) as link,
    ):
        link.sendall(message)
        with contextlib.suppress(OSError):  # closed before it was read, what we sent might be thrown away with it
            link.unwrap()


def framed(line: str, *, at: datetime, host: str) -> bytes:
    """One message as RFC 5424 writes it, its length before it as RFC 5425 wants."""
    body = f"<{PRIORITY}>1 {at:%Y-%m-%dT%H:%M:%S.%fZ} {host} bancada - checkpoint - {line}".encode()
    return f"{len(body)} ".encode() + body


# by the setting that says where; each raises OSError (what ssl raises are OSErrors too) unless all lines are there
PLACES: dict[str, tuple[str, Callable[[list[str]], None]]] = {
    "file": ("SEAL_FILE", _to_file),
    "syslog": ("SEAL_SYSLOG", _to_syslog),
}
