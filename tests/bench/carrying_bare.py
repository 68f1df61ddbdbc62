"""The floor under D1: a bare nginx, and behind it a process that reads and hashes, or writes, hashes and syncs, and does
nothing else: no person, no check, no trail, no further process."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import http.server
import os
import shutil
import socket
import socketserver
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.bench.place import ROOT, until

MB = 1024 * 1024
FILE = "bench-bare"
CONFIG = """
worker_processes 1; daemon off; user root; error_log stderr error; pid {folder}/nginx.pid;
events {{ worker_connections 64; }}
http {{
  sendfile on; access_log off; client_max_body_size 0; client_body_buffer_size 256k;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  upstream bare {{ server unix:{folder}/bare.sock; keepalive 2; }}
  proxy_http_version 1.1; proxy_set_header Connection "";
  proxy_buffering off; proxy_buffer_size 256k; proxy_buffers 4 256k; proxy_busy_buffers_size 256k;
  server {{
    listen 127.0.0.1:{port};
    location /static/ {{ alias {folder}/; }}
    location / {{ proxy_pass http://bare; }}
  }}
}}
"""


class Bare:
    """Both of them, over one folder; `port` is nginx'."""

    def __init__(self, port: int) -> None:
        self._at = ("127.0.0.1", port)

    def take(self, path: str) -> Iterator[memoryview]:
        """GET, into one buffer again and again."""
        with contextlib.closing(http.client.HTTPConnection(*self._at, timeout=60)) as link:
            link.request("GET", path)
            answer, room = link.getresponse(), memoryview(bytearray(MB))
            if answer.status != 200:
                raise SystemExit(f"the bare nginx answered {answer.status}")
            while count := answer.readinto(room):
                yield room[:count]

    def static(self) -> Iterator[memoryview]:
        """nginx alone: the kernel sends the file."""
        return self.take(f"/static/{FILE}")

    def hashed(self) -> Iterator[memoryview]:
        """Through nginx, from a process that reads it and computes its SHA-256 beside."""
        return self.take("/")

    def put(self, pieces: Iterable[memoryview]) -> str:
        """Through nginx, to a process that writes the pieces, computes their SHA-256 beside, and syncs at the end."""
        with contextlib.closing(http.client.HTTPConnection(*self._at, timeout=60)) as link:
            for piece in pieces:
                link.request("PUT", "/", piece)
                link.getresponse().read()
            link.request("POST", "/")
            return link.getresponse().read().decode()


@contextlib.contextmanager
def running(source: Path) -> Iterator[Bare]:
    """Over a file, in a folder beside it."""
    place = source.with_name("bench-bare")
    place.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    (place / FILE).symlink_to(source)
    (place / "nginx.conf").write_text(CONFIG.format(folder=place, port=port))
    server = subprocess.Popen([sys.executable, "-m", __name__, str(place)], cwd=ROOT)
    nginx = subprocess.Popen(["nginx", "-e", "stderr", "-p", str(place), "-c", str(place / "nginx.conf")])
    try:
        until(
            lambda: (place / "bare.sock").exists() and (place / "nginx.pid").exists(), seconds=30, what="the bare nginx"
        )
        yield Bare(port)
    finally:
        for process in (nginx, server):
            process.terminate()
            process.wait()
        shutil.rmtree(place)


class Handler(http.server.BaseHTTPRequestHandler):
    """GET gives the file; PUT adds a piece to another, POST ends it and gives its digest."""

    protocol_version = "HTTP/1.1"
    rbufsize = 0
    place: Path
    whole = hashlib.sha256()
    rooms = (memoryview(bytearray(MB)), memoryview(bytearray(MB)))

    def do_GET(self) -> None:
        """Read, hash beside, send."""
        with (self.place / FILE).open("rb", buffering=0) as file, ThreadPoolExecutor(1) as beside:
            self._head(os.fstat(file.fileno()).st_size)
            whole = hashlib.sha256()
            before = beside.submit(int)
            while piece := file.read(MB):
                before.result()
                before = beside.submit(whole.update, piece)
                self.connection.sendall(piece)

    def do_PUT(self) -> None:
        """Receive, hash beside, write."""
        left = int(self.headers["Content-Length"])
        with (self.place / "taken").open("ab", buffering=0) as file, ThreadPoolExecutor(1) as beside:
            before, turn = beside.submit(int), 0
            while left:
                room, turn = self.rooms[turn % 2][: min(MB, left)], turn + 1
                self._fill(room)
                before.result()
                before = beside.submit(Handler.whole.update, room)
                file.write(room)
                left -= len(room)
        self._head(0)

    def do_POST(self) -> None:
        """On the disk, with its digest; the next one begins anew."""
        with (self.place / "taken").open("rb") as file:
            os.fsync(file.fileno())
        (self.place / "taken").unlink()
        digest, Handler.whole = Handler.whole.hexdigest(), hashlib.sha256()
        self._head(len(digest))
        self.wfile.write(digest.encode())

    def _fill(self, room: memoryview) -> None:
        got = 0
        while got < len(room):
            count = self.connection.recv_into(room[got:])
            if not count:
                raise ConnectionError("hung up in the midst")
            got += count

    def _head(self, length: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def address_string(self) -> str:
        """A Unix socket has none."""
        return "-"

    def log_message(self, *_: object) -> None:
        """Nothing is written down."""


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """A thread a connection of nginx'."""

    daemon_threads = True


if __name__ == "__main__":
    Handler.place = Path(sys.argv[1])
    with Server(str(Handler.place / "bare.sock"), Handler) as bare:
        bare.serve_forever()
