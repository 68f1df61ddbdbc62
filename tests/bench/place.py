"""The stack under measurement: its door, its people, its database, its processes, and commands inside it."""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psycopg

from stack import pidfile
from stack.layout import INSIDE_VAR

ROOT = Path(__file__).resolve().parents[2]
PROJECT, PARTITION, NODE = "visao", "prep", "prep01"
RESEARCHERS = ("davi", "elisa", "ana", "carla")  # members of PROJECT who may submit and read


class Place:
    """One running stack, as BANCADA_STACK names it."""

    def __init__(self, card: Path) -> None:
        self.card: dict[str, Any] = json.loads(card.read_text())
        self.var = Path(self.card["var"])
        self.host = urllib.parse.urlsplit(self.card["address"]).netloc
        self._tokens: dict[str, str] = {}
        self._sessions: dict[str, str] = {}
        self._database: psycopg.Connection[Any] | None = None
        self.inside = Path(f"/proc/{self.pid('supervisor')}/root") / INSIDE_VAR.relative_to("/")

    def pid(self, name: str) -> int:
        """Of a process of the stack, which must run."""
        found = pidfile.read(self.var / "run/pid" / name)
        if found is None:
            raise SystemExit(f"{name} does not run at {self.var}")
        return found

    def pids(self) -> dict[str, int]:
        """All of them that run."""
        found = {path.name: pidfile.read(path) for path in (self.var / "run/pid").iterdir()}
        return {name: pid for name, pid in found.items() if pid}

    def kill(self, name: str, number: int = signal.SIGKILL) -> int:
        """Send it a signal; its pid. What the stack's own `stop` takes along (all that need it) runs on here."""
        pid = self.pid(name)
        os.kill(pid, number)
        return pid

    # --- commands

    def stack(self, act: str, *words: str) -> str:
        """`python3 -m stack ACT`."""
        return _run([sys.executable, "-m", "stack", act, "--var", str(self.var), *words])

    def inside_as(self, user: str, *words: str) -> str:
        """A command inside the stack as this user; what it printed."""
        return self.stack("exec", *(["--user", user] if user != "root" else []), "--", *words)

    def popen(self, user: str, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """The same, left running: for servers of the measurement's own."""
        argv = [sys.executable, "-m", "stack", "exec", "--var", str(self.var), "--user", user, "--", *words]
        return subprocess.Popen(argv, cwd=ROOT, **options)

    # --- the database, as its superuser

    @property
    def database(self) -> psycopg.Connection[Any]:
        """One connection for all threads (psycopg locks it), made anew where the server dropped it."""
        if self._database is None or self._database.closed:
            self._database = self.connect("bancada")
        return self._database

    def connect(self, name: str) -> psycopg.Connection[Any]:
        return psycopg.connect(host=str(self.inside / "run/pg"), dbname=name, user="postgres", autocommit=True)

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            return self.database.execute(statement, values or None).fetchall()
        except psycopg.OperationalError:  # the server was restarted: that may be what is being tried
            return self.database.execute(statement, values or None).fetchall()

    def one(self, statement: str, *values: object) -> Any:
        return self.rows(statement, *values)[0][0]

    # --- people

    def token(self, user: str) -> str:
        """A personal token that may read and submit."""
        if user not in self._tokens:
            self.session(user)  # only who has signed in has one
            words = ["issue_token", user, "--name", "bench", "--days", "1"]
            self._tokens[user] = _run([*shlex.split(self.card["manage"]), *words]).strip()
        return self._tokens[user]

    def session(self, user: str) -> str:
        """The cookie of a session, kept for all who are this person."""
        if user not in self._sessions:
            self._sessions[user] = self._sign_in(user)
        return self._sessions[user]

    def _sign_in(self, user: str) -> str:
        page = Client(self.host)
        body = page.get("/sign-in").body.decode()
        mark = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', body)
        password = next(row["password"] for row in self.card["sign_ins"] if row["user"] == user)
        fields = {"username": user, "password": password, "csrfmiddlewaretoken": mark[1] if mark else ""}
        headers = {"Cookie": page.cookies, "Referer": self.card["address"] + "/sign-in"}
        page.post("/sign-in", urllib.parse.urlencode(fields).encode(), **FORM, **headers)
        if "session=" not in page.cookies:
            raise SystemExit(f"{user} cannot sign in at {self.card['address']}")
        return page.cookies

    def api(self, user: str) -> Client:
        """A kept-alive caller of the API."""
        return Client(self.host, Authorization=f"Bearer {self.token(user)}")

    def browser(self, user: str) -> Client:
        """A kept-alive caller of pages."""
        return Client(self.host, Cookie=self.session(user))


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}


class Answer:
    """What came back; `body` whole."""

    def __init__(self, raw: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.body = raw.status, raw.headers, raw.read()

    def json(self) -> Any:
        return json.loads(self.body)


class Local(http.client.HTTPConnection):
    """The same over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


class Client:
    """One kept-alive connection, as cheap as Python has it: what is measured is the other side.

    `host` is HOST:PORT or unix:PATH.
    """

    def __init__(self, host: str, **headers: str) -> None:
        kind, _, path = host.partition(":")
        self._link = Local(path) if kind == "unix" else http.client.HTTPConnection(host, timeout=60)
        self._headers = headers
        self._cookies: dict[str, str] = {}

    @property
    def cookies(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self._cookies.items())

    def get(self, path: str, **headers: str) -> Answer:
        return self._ask("GET", path, None, headers)

    def post(self, path: str, body: bytes, **headers: str) -> Answer:
        return self._ask("POST", path, body, headers)

    def put(self, path: str, body: bytes, **headers: str) -> Answer:
        return self._ask("PUT", path, body, headers)

    def delete(self, path: str, **headers: str) -> Answer:
        return self._ask("DELETE", path, None, headers)

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        self._link.request(method, path, body, self._headers | headers)
        answer = Answer(self._link.getresponse())
        for line in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = line.partition(";")[0].partition("=")
            self._cookies[name.strip()] = value
        return answer


def request(name: str, script: str, **fields: object) -> bytes:
    """The body of a submission to PROJECT's smallest partition."""
    asked = {"project": PROJECT, "partition": PARTITION, "cpus": 1, "memory_gb": 1, "time_limit_minutes": 10}
    return json.dumps(asked | {"name": name, "script": script} | fields).encode()


def submit(client: Client, body: bytes) -> str:
    """The id of the job that was accepted."""
    answer = client.post("/api/v1/jobs", body, **JSON)
    if answer.status != 201:
        raise SystemExit(f"not accepted ({answer.status}): {answer.body[:300]!r}")
    return str(answer.json()["id"])


def until(look: Callable[[], Any], *, seconds: float, what: str, every: float = 0.5) -> Any:
    """Wait for something to be so."""
    end = time.monotonic() + seconds
    while not (seen := look()):
        if time.monotonic() > end:
            raise SystemExit(f"not within {seconds:.0f} s: {what}")
        time.sleep(every)
    return seen


def family(pids: Iterable[int]) -> list[int]:
    """These processes and all that descend from them."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            parents.setdefault(_parent(entry), []).append(int(entry.name))
    found = list(pids)
    for pid in found:
        found += parents.get(pid, [])
    return found


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return -1


def megabytes(pids: Iterable[int], what: str = "Pss") -> float:
    """Memory of these processes: Pss shares out what several map, Rss counts it for each."""
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{what}:"))
    return total / 1024


def _run(argv: list[str]) -> str:
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{shlex.join(argv)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
