"""The door's own limits: an address that asks far too much is told so, in the form its kind of caller reads."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import socketserver
import string
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack.running import CHECKOUT

TEMPLATE = CHECKOUT / "stack/templates/nginx.conf"
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket"}


class Portal(socketserver.StreamRequestHandler):
    """Reads a body and says 200 to everything; a socket it leaves open."""

    def handle(self) -> None:
        head = b""
        while line := self.rfile.readline().strip():
            head += line + b"\n"
        if length := re.search(rb"content-length: (\d+)", head.lower()):
            self.rfile.read(int(length[1]))
        if b"/ws/" in head:
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            self.rfile.read(1)
        else:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")


class Upstream(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@contextlib.contextmanager
def upstream(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True)
    with Upstream(str(path), Portal) as server:
        path.chmod(0o666)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Its port, before a portal that says yes to everything. What is let in beyond a first burst, and the number of
    sockets, are set low: a slow machine is refused as well."""
    var = tmp_path_factory.mktemp("door")
    var.chmod(0o755)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    text = string.Template(TEMPLATE.read_text()).substitute(listen=f"127.0.0.1:{port}", access_log="off")
    text = re.sub(r"rate=\d+r/s", "rate=1r/s", text.replace("/srv/var", str(var)))
    text = re.sub(r"limit_conn sockets \d+;", "limit_conn sockets 3;", text)
    (var / "run/nginx").mkdir(parents=True)
    (var / "nginx.conf").write_text(text)
    argv = ["nginx", "-e", "stderr", "-p", str(var), "-c", str(var / "nginx.conf"), "-g", "daemon off; user root;"]
    with upstream(var / "run/web/web.sock"), upstream(var / "run/live/live.sock"):
        process = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
        try:
            until_open(port)
            yield port
        finally:
            process.terminate()
            process.wait()


def until_open(port: int) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError("nginx did not start")


def ask(port: int, method: str, path: str) -> http.client.HTTPResponse:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    link.request(method, path)
    return link.getresponse()


def flood(port: int, method: str, path: str, many: int) -> tuple[Counter[int], http.client.HTTPResponse | None]:
    """How often which status, and an answer that refused."""
    answers = [ask(port, method, path) for _ in range(many)]
    refused = next((answer for answer in answers if answer.status == 429), None)
    return Counter(answer.status for answer in answers), refused


LARGE = ("/api/v1/projects/a/files/uploads/" + "ab" * 16, "/projects/a/files/piece")
PLAIN = ("/api/v1/jobs", "/api/v1/projects/a/files/uploads", LARGE[0] + "/finish", "/projects/a/files/upload",
         "/projects/a/files/begin", "/projects/a/files/finish", "/projects/a/b/files/piece", "/jobs/", "/")  # fmt: skip


def elsewhere(port: int) -> http.client.HTTPConnection:
    """From another address than those that flood."""
    return http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=("127.0.0.2", 0))


def announced(port: int, path: str, length: int) -> int:
    """The status where a body of this length is announced and none of it sent: it is refused at once."""
    link = elsewhere(port)
    link.putrequest("PUT", path)
    link.putheader("Content-Length", str(length))
    link.endheaders()
    return link.getresponse().status


@pytest.mark.parametrize("path", LARGE)
def test_a_piece_of_an_upload_may_be_large(door: int, path: str) -> None:
    link = elsewhere(door)
    link.request("PUT", path, bytes(9 * 1024 * 1024))
    assert link.getresponse().status == 200
    assert announced(door, path, 64 * 1024 * 1024 + 1) == 413


@pytest.mark.parametrize("path", PLAIN)
def test_everything_else_keeps_its_bound(door: int, path: str) -> None:
    assert announced(door, path, 9 * 1024 * 1024) == 413


def test_sixty_may_sign_in_at_once_and_a_machine_may_not(door: int) -> None:
    statuses, refused = flood(door, "POST", "/sign-in", 120)
    assert statuses[200] >= 60 and refused is not None
    assert refused.headers["Content-Type"].startswith("text/html") and refused.headers["Retry-After"] == "30"
    assert "Espere meio minuto" in refused.read().decode()
    assert flood(door, "GET", "/sign-in", 20)[0] == {200: 20}  # the page itself can be seen


def test_the_api_answers_a_flood_with_a_problem(door: int) -> None:
    statuses, refused = flood(door, "GET", "/api/v1/jobs", 450)
    assert statuses[200] >= 400 and refused is not None
    assert refused.headers["Content-Type"] == "application/problem+json"
    problem = json.loads(refused.read())
    assert (problem["status"], problem["type"]) == (429, "urn:bancada:problem:too-fast")


def test_sockets_of_one_address_are_counted_and_pages_are_not(door: int) -> None:
    links = []
    for _ in range(4):
        link = http.client.HTTPConnection("127.0.0.1", door, timeout=10)
        link.request("GET", "/ws/jobs/x", headers=UPGRADE)
        links.append(link)
    statuses = sorted(status(link) for link in links)
    assert statuses == [101, 101, 101, 429]
    assert flood(door, "GET", "/jobs/", 50)[0] == {200: 50}
    for link in links:
        link.close()


def status(link: http.client.HTTPConnection) -> int:
    """Of a socket's handshake, whose answer has no end."""
    assert link.sock is not None
    return int(link.sock.recv(64).split()[1])
