"""The agent's door: GET /metrics for who holds the token, over TLS wherever it leaves the machine."""

from __future__ import annotations

import hmac
import ipaddress
import ssl
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from gpu.text import CONTENT_TYPE

MOST = 16  # requests at the same moment; who comes then is turned away


class NotSafe(Exception):
    """It would have served the network without TLS."""


class Server(ThreadingHTTPServer):
    """`text()` to whoever sends "Authorization: Bearer TOKEN"."""

    daemon_threads = True
    request_queue_size = 16

    def __init__(self, address: tuple[str, int], token: str, text: Callable[[], bytes]) -> None:
        self.token, self.text = token.encode(), text
        super().__init__(address, Handler)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    timeout = 5  # seconds for a client to say what it wants
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "bancada-node-agent", ""

    def do_GET(self) -> None:
        """The metrics, or why not."""
        if self.path.split("?")[0] != "/metrics":
            return self._say(404, b"only /metrics is here\n")
        given = self.headers.get("Authorization", "").encode("latin-1", "replace")
        if not hmac.compare_digest(given, b"Bearer " + self.server.token):
            return self._say(401, b"a token is needed\n")
        return self._say(200, self.server.text(), CONTENT_TYPE)

    def _say(self, status: int, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """One request a second is not worth a line."""


def loopback(host: str) -> bool:
    """Whether an address stays on this machine."""
    return host == "localhost" or ipaddress.ip_address(host).is_loopback


def serve(
    host: str,
    port: int,
    token: str,
    text: Callable[[], bytes],
    *,
    cert: Path | None = None,
    key: Path | None = None,
    plain: bool = False,
) -> Server:
    """A server that listens. Raises NotSafe off loopback without a certificate, unless `plain` says the network is
    closed to others."""
    if not token:
        raise NotSafe("a token is needed: --token-file")
    if cert is None and not plain and not loopback(host):
        raise NotSafe(f"{host} is not loopback: a certificate is needed (--tls-cert and --tls-key)")
    server = Server((host, port), token, text)
    if cert is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(cert, key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server
