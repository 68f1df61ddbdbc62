"""Short-lived tokens for Slurm, asked of the signer over its socket and kept until shortly before they end."""

from __future__ import annotations

import dataclasses
import json
import socket
import threading
import time
from pathlib import Path
from typing import Protocol

from slurm.contract import Refused, Unreachable

SPARE = 15.0  # seconds before its end at which a token is no longer used
PATIENCE = 5.0  # seconds for the signer to answer
_MOST = 65536


@dataclasses.dataclass(frozen=True, slots=True)
class Token:
    """A JWT for the Slurm user `name`; `expires` in Unix seconds. Its text never shows in a log or a traceback."""

    name: str
    expires: float
    text: str = dataclasses.field(repr=False)

    def is_fresh(self) -> bool:
        return time.time() < self.expires - SPARE


class Tokens(Protocol):
    """Where tokens come from. Raises Unreachable, or Refused for a person the signer does not sign for."""

    def of(self, user: str) -> Token: ...

    def admin(self) -> Token: ...

    def reading(self) -> Token: ...


class SignerTokens:
    """The signer's client; safe to share between threads."""

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._kept: dict[tuple[str, str], Token] = {}
        self._lock = threading.Lock()
        self._read_as = "read"

    def of(self, user: str) -> Token:
        return self._token("user", user)

    def admin(self) -> Token:
        return self._token("admin")

    def reading(self) -> Token:
        """The reader's; the worker's uid is not given that one and reads as the administrator."""
        try:
            return self._token(self._read_as)
        except Refused:
            if self._read_as == "admin":
                raise
            token = self._token("admin")
            self._read_as = "admin"
            return token

    def _token(self, kind: str, name: str = "") -> Token:
        with self._lock:
            kept = self._kept.get((kind, name))
        if kept and kept.is_fresh():
            return kept
        fresh = self._ask(kind, name)
        with self._lock:
            self._kept = {key: token for key, token in self._kept.items() if token.is_fresh()}
            self._kept[kind, name] = fresh
        return fresh

    def _ask(self, kind: str, name: str) -> Token:
        question = {"kind": kind, "name": name} if name else {"kind": kind}
        answer = self._exchange(json.dumps(question).encode() + b"\n")
        if "error" in answer:
            raise Refused(f"the signer refused: {answer['error']}")
        try:
            return Token(str(answer["name"]), float(str(answer["expires"])), str(answer["token"]))
        except (KeyError, TypeError, ValueError):
            raise Unreachable("the signer's answer cannot be read") from None

    def _exchange(self, line: bytes) -> dict[str, object]:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
                door.settimeout(PATIENCE)
                door.connect(self._path)
                door.sendall(line)
                answer = json.loads(_line(door))
        except (OSError, ValueError) as error:
            raise Unreachable(f"no token: the signer at {self._path} does not answer ({error})") from None
        return answer if isinstance(answer, dict) else {}


def _line(door: socket.socket) -> bytes:
    got = b""
    while not got.endswith(b"\n") and len(got) < _MOST:
        chunk = door.recv(4096)
        if not chunk:
            break
        got += chunk
    return got
