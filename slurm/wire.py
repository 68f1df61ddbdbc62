"""HTTP to slurmrestd over its Unix socket: kept-alive connections, one client per token, every failure named."""

from __future__ import annotations

import contextlib
import dataclasses
import ssl
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from slurm import answers
from slurm.contract import Unanswered, Unreachable
from slurm.tokens import Token

MOST_CLIENTS = 32  # slurmrestd serves 124 connections in all
PER_CLIENT = 8
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_CUT = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
_BASE = "http://slurm"
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # else httpx reads the CA bundle for every client: 80 ms


@dataclasses.dataclass(slots=True)
class _Session:
    """One token's connections, and how many threads are using them now."""

    token: Token
    client: httpx.Client
    users: int = 0


class Wire:
    """Safe to share between threads; open it after a fork, not before. `deadline` is seconds per request."""

    def __init__(self, path: str | Path, *, deadline: float) -> None:
        self._path, self._deadline = str(path), deadline
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.Lock()

    def get(self, path: str, token: Token, **query: str) -> answers.Json:
        """A read; a kept-alive connection that turns out to be dead is tried once more on a new one."""
        try:
            return self._send("GET", path, token, query=query)
        except _Cut:
            return self._send("GET", path, token, query=query)

    def post(self, path: str, token: Token, body: Mapping[str, Any]) -> answers.Json:
        return self._send("POST", path, token, body=body)

    def delete(self, path: str, token: Token) -> answers.Json:
        return self._send("DELETE", path, token)

    def status(self, path: str, token: Token) -> int:
        """The status of a GET, whatever its body."""
        return self._raw("GET", path, token).status_code

    def _send(self, method: str, path: str, token: Token, **more: Any) -> answers.Json:
        answer = self._raw(method, path, token, **more)
        body = answers.read(answer.status_code, answer.content)
        if not (method == "POST" and body.get("job_id")):  # an id is an acceptance, whatever warnings stand beside it
            answers.check(answer.status_code, body)
        return body

    def _raw(
        self, method: str, path: str, token: Token, *, body: Any = None, query: Mapping[str, str] | None = None
    ) -> httpx.Response:
        headers = {"X-SLURM-USER-NAME": token.name, "X-SLURM-USER-TOKEN": token.text}
        try:
            with self._client(token) as client:
                return client.request(method, path, headers=headers, json=body, params=query)
        except _NEVER_SENT as error:
            raise Unreachable(f"slurmrestd at {self._path} cannot be reached ({error})") from None
        except _CUT as error:
            raise _Cut(f"slurmrestd broke off ({error})") from None
        except httpx.HTTPError as error:
            raise Unanswered(f"slurmrestd did not answer ({type(error).__name__})") from None

    @contextlib.contextmanager
    def _client(self, token: Token) -> Iterator[httpx.Client]:
        with self._lock:
            session = self._session(token)
            session.users += 1
        try:
            yield session.client
        finally:
            with self._lock:
                session.users -= 1
                if self._sessions.get(token.name) is not session and not session.users:
                    session.client.close()

    def _session(self, token: Token) -> _Session:
        """This token's session, freshest last; called with the lock held."""
        session = self._sessions.pop(token.name, None)
        if session is None or session.token is not token:
            self._retire(session)
            session = _Session(token, self._open())
        self._sessions[token.name] = session
        while len(self._sessions) > MOST_CLIENTS:
            self._retire(self._sessions.pop(next(iter(self._sessions))))
        return session

    @staticmethod
    def _retire(session: _Session | None) -> None:
        """Close it, or leave that to the last thread that uses it."""
        if session is not None and not session.users:
            session.client.close()

    def _open(self) -> httpx.Client:
        limits = httpx.Limits(max_connections=PER_CLIENT, max_keepalive_connections=PER_CLIENT, keepalive_expiry=30)
        transport = httpx.HTTPTransport(uds=self._path, limits=limits, verify=_NO_TLS)
        return httpx.Client(transport=transport, base_url=_BASE, timeout=self._deadline, trust_env=False)


class _Cut(Unanswered):
    """The connection ended before an answer came."""
