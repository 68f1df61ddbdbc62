"""The directory's servers by address, and what a TLS handshake with one says, within seconds and in words."""

from __future__ import annotations

import dataclasses
import socket
import ssl
from urllib.parse import urlsplit

from django.conf import settings

from access import tls

PORTS = {"ldap": 389, "ldaps": 636}
# ExtendedRequest 1.3.6.1.4.1.1466.20037 with message id 1, and the head of its answer
START_TLS = bytes.fromhex("301d02010177188016") + b"1.3.6.1.4.1.1466.20037"


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """One server: ldap (StartTLS), ldaps, or ldapi (the local socket, which the kernel guards)."""

    url: str
    scheme: str
    host: str
    port: int

    @property
    def encrypted(self) -> bool:
        """Whether a password may be sent there."""
        return self.scheme in {"ldaps", "ldapi"} or (self.scheme == "ldap" and settings.AUTH_LDAP_START_TLS)


def servers() -> list[Server]:
    """The servers of LDAP_URL, in the order they are tried."""
    return [_server(url) for url in settings.AUTH_LDAP_SERVER_URI.replace(",", " ").split()]


def _server(url: str) -> Server:
    parts = urlsplit(url)
    return Server(url, parts.scheme, parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0))


def connect(server: Server, seconds: float) -> socket.socket:
    """A TCP connection. Raises OSError."""
    link = socket.create_connection((server.host, server.port), seconds)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def handshake(server: Server, seconds: float) -> ssl.SSLSocket:
    """A TLS connection whose certificate was checked. Raises OSError, which says what is wrong."""
    link = connect(server, seconds)
    try:
        if server.scheme == "ldap":
            link.sendall(START_TLS)
            answer = link.recv(1024)
            if not answer:
                raise ConnectionError("the server closed the connection at StartTLS")
        return tls.context(settings.LDAP_CA_FILE).wrap_socket(link, server_hostname=server.host)
    except BaseException:
        link.close()
        raise


def trouble(server: Server, seconds: float) -> str:
    """What is wrong with the server's TLS, in words; empty where nothing is."""
    try:
        handshake(server, seconds).close()
    except ssl.SSLCertVerificationError as error:
        return f"certificate refused: {error.verify_message}"
    except OSError as error:
        return f"no TLS: {error.strerror or error}"
    return ""
