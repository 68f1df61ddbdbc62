"""A git server on loopback for tests: repositories beneath a folder, served by git's own http-backend."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

WHO = ("-c", "user.name=Demo", "-c", "user.email=demo@example.org", "-c", "protocol.file.allow=always")


def git(folder: Path, *words: str) -> str:
    """In a folder, with no settings but ours."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *WHO, *words], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


class Handler(BaseHTTPRequestHandler):
    """/moved/… leads to /…; all else is asked of http-backend."""

    root: Path

    def do_GET(self) -> None:
        if self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/moved"))
            self.end_headers()
            return
        self._ask(b"")

    def do_POST(self) -> None:
        self._ask(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _ask(self, body: bytes) -> None:
        path, _sign, query = self.path.partition("?")
        env = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.root), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
            "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_LENGTH": str(len(body)),
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "REMOTE_ADDR": "127.0.0.1",
            "HOME": str(self.root), "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
        }  # fmt: skip
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=False)
        head, _blank, data = done.stdout.partition(b"\r\n\r\n")
        facts = [line.partition(": ")[::2] for line in head.decode().splitlines()]
        self.send_response(int(next((value[:3] for name, value in facts if name == "Status"), "200")))
        for name, value in facts:
            if name != "Status":
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *words: Any) -> None:
        """Silent."""


@contextlib.contextmanager
def serving(root: Path, port: int = 0) -> Iterator[str]:
    """The address of repositories beneath a folder, while it lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", port), type("Ours", (Handler,), {"root": root}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def repository(root: Path, name: str = "code.git") -> list[str]:
    """A bare one with two commits, the first of which no branch points at; [the first, the second]."""
    work = root / f"work-{name}"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    commits = []
    for number in (1, 2):
        (work / "train.py").write_text(f"print('version {number}')\n")
        git(work, "add", ".")
        git(work, "commit", "-q", "-m", f"Version {number}.")
        commits.append(git(work, "rev-parse", "HEAD"))
    git(root, "clone", "-q", "--bare", str(work), name)
    return commits
