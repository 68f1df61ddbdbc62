"""HTTP to slurmrestd over its Unix socket: kept-alive connections, those of a token its own, every failure named."""

from __future__ import annotations

import dataclasses
import http.client
import json
import select
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from slurm import answers
from slurm.contract import Unanswered, Unreachable
from slurm.tokens import Token

MOST_SESSIONS = 32  # slurmrestd serves 124 connections in all
MOST_IDLE = 8  # connections kept for one token


class _Link(http.client.HTTPConnection):
    """One connection. The standard library's client: what a submission costs here is mostly its three requests."""

    def __init__(self, path: str, deadline: float) -> None:
        super().__init__("slurm", timeout=deadline)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)

    def is_quiet(self) -> bool:
        """An idle connection with something to read was closed by the other side, or is out of step."""
        return not select.select([self.sock], [], [], 0)[0]


@dataclasses.dataclass(slots=True)
class _Session:
    """One token's idle connections."""

    token: Token
    idle: list[_Link] = dataclasses.field(default_factory=list)

    def close(self) -> None:
        while self.idle:
            self.idle.pop().close()


class Wire:
    """Safe to share between threads; open it after a fork, not before. `deadline` is seconds without a byte."""

    def __init__(self, path: str | Path, *, deadline: float) -> None:
        self._path, self._deadline = str(path), deadline
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.Lock()

    def get(self, path: str, token: Token, **query: str) -> answers.Json:
        """A read; a kept-alive connection that turns out to be dead is tried once more on a new one."""
        where = f"{path}?{urlencode(query)}" if query else path
        try:
            return self._send("GET", where, token)
        except _Cut:
            return self._send("GET", where, token)

    def post(self, path: str, token: Token, body: Mapping[str, Any]) -> answers.Json:
        return self._send("POST", path, token, body=body)

    def delete(self, path: str, token: Token) -> answers.Json:
        return self._send("DELETE", path, token)

    def status(self, path: str, token: Token) -> int:
        """The status of a GET, whatever its body."""
        return self._raw("GET", path, token)[0]

    def _send(self, method: str, path: str, token: Token, body: Mapping[str, Any] | None = None) -> answers.Json:
        status, content = self._raw(method, path, token, body)
        told = answers.read(status, content)
        if not (method == "POST" and told.get("job_id")):  # an id is an acceptance, whatever warnings stand beside it
            answers.check(status, told)
        return told

    def _raw(self, method: str, path: str, token: Token, body: Mapping[str, Any] | None = None) -> tuple[int, bytes]:
        """(status, content)."""
        link = self._take(token)
        try:
            status, content, last = _ask(link, method, path, token, body)
        except TimeoutError:
            link.close()
            raise Unanswered("slurmrestd did not answer in time") from None
        except (OSError, http.client.HTTPException) as error:
            link.close()
            raise _Cut(f"slurmrestd broke off ({error!r})") from None
        except BaseException:
            link.close()
            raise
        self._give_back(token, link, last)
        return status, content

    def _take(self, token: Token) -> _Link:
        """A connection that carried no other token: an idle one that still stands, or a new one."""
        with self._lock:
            idle = self._session(token).idle
            while idle:
                link = idle.pop()
                if link.is_quiet():
                    return link
                link.close()
        link = _Link(self._path, self._deadline)
        try:
            link.connect()
        except OSError as error:
            link.close()
            raise Unreachable(f"slurmrestd at {self._path} cannot be reached ({error})") from None
        return link

    def _give_back(self, token: Token, link: _Link, last: bool) -> None:
        with self._lock:
            session = self._sessions.get(token.name)
            if not last and session is not None and session.token is token and len(session.idle) < MOST_IDLE:
                session.idle.append(link)
                return
        link.close()

    def _session(self, token: Token) -> _Session:
        """This token's session, freshest last; called with the lock held."""
        session = self._sessions.pop(token.name, None)
        if session is None or session.token is not token:
            if session is not None:
                session.close()
            session = _Session(token)
        self._sessions[token.name] = session
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.pop(next(iter(self._sessions))).close()
        return session


def _ask(link: _Link, method: str, path: str, token: Token, body: Mapping[str, Any] | None) -> tuple[int, bytes, bool]:
    """(status, content, whether the connection ends with it)."""
    headers = {"X-SLURM-USER-NAME": token.name, "X-SLURM-USER-TOKEN": token.text, "Accept": "*/*"}
    content = None
    if body is not None:
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        headers["Content-Type"] = "application/json"
    link.request(method, path, content, headers)
    answer = link.getresponse()
    return answer.status, answer.read(), answer.will_close


class _Cut(Unanswered):
    """The connection ended before an answer came."""
