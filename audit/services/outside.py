"""Where checkpoints go so that nobody on this host can take them back: a file, syslog over TLS (RFC 5424), mail."""

from __future__ import annotations

import os
import socket
import ssl
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)
DEADLINE = 5.0
PRIORITY = 13 * 8 + 5  # facility "log audit", severity "notice"


def send(line: str) -> None:
    """To everywhere that is set up; what cannot be reached is said and tried again with the next checkpoint."""
    for name, act in (("file", _to_file), ("syslog", _to_syslog)):
        try:
            act(line)
        except OSError as error:
            log.error("a checkpoint did not leave the host", by=name, why=str(error))


def _to_file(line: str) -> None:
    """Appended and on the disk before we go on; the file may lie on a mount of another host."""
    if not settings.SEAL_FILE:
        return
    handle = os.open(Path(settings.SEAL_FILE), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, line.encode() + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)


def _to_syslog(line: str) -> None:
    if not settings.SEAL_SYSLOG:
        return
    where = urlsplit(settings.SEAL_SYSLOG)
    message = framed(line, at=datetime.now(UTC), host=socket.gethostname())
    context = ssl.create_default_context(cafile=settings.SEAL_SYSLOG_CA or None)
    with (
        socket.create_connection((where.hostname, where.port or 6514), timeout=DEADLINE) as plain,
        context.wrap_socket(plain, server_hostname=where.hostname) as link,
    ):
        link.sendall(message)


def framed(line: str, *, at: datetime, host: str) -> bytes:
    """One message as RFC 5424 writes it, its length before it as RFC 5425 wants."""
    body = f"<{PRIORITY}>1 {at:%Y-%m-%dT%H:%M:%S.%fZ} {host} bancada - checkpoint - {line}".encode()
    return f"{len(body)} ".encode() + body
