"""One short-lived process for each identity: asked line by line while its token is fresh, ended when it is not."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from slurm.contract import Refused, SlurmError, Unanswered, Unreachable
from slurm.tokens import Token

MOST = 16  # processes at once, some 30 MB each
_KINDS: Mapping[str, type[SlurmError]] = {kind.__name__: kind for kind in (Refused, Unreachable, Unanswered)}
_HOME = str(Path(__file__).resolve().parents[2])


@dataclasses.dataclass
class Child:
    """One process; a call at a time."""

    token: Token
    process: subprocess.Popen[bytes]
    calls: IO[bytes]
    answers: IO[bytes]
    complaints: IO[bytes]
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    is_ready: bool = False
    _rest: bytes = b""

    def ask(self, call: str, facts: Mapping[str, Any], deadline: float) -> Any:
        """What it answers. Raises what it says, or Unanswered when it says nothing after it was asked."""
        with self.lock:
            until = time.monotonic() + deadline
            if not self.is_ready:
                self._begin(until)
            try:
                self.calls.write(json.dumps({"call": call, "with": facts}).encode() + b"\n")
                self.calls.flush()
            except OSError:
                raise Unreachable(f"the process that speaks to Slurm has ended: {self.words()}") from None
            return _read(self._line(until) or self._gave_up())

    def _begin(self, until: float) -> None:
        if b'"ready"' not in self._line(until):
            self.end()
            raise Unreachable(f"pyslurm does not start: {self.words()}")
        self.is_ready = True

    def _line(self, until: float) -> bytes:
        """One line, or nothing where it ended or took too long."""
        while b"\n" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                return b""
            if not (got := os.read(self.answers.fileno(), 65536)):
                return b""
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _gave_up(self) -> bytes:
        """What it may say later would be taken for the answer to the next call."""
        self.end()
        raise Unanswered(f"the process that speaks to Slurm did not answer: {self.words()}")

    def words(self) -> str:
        """The last of its complaints; never its environment."""
        self.complaints.seek(0)
        said = self.complaints.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
        return said[-1][:300] if said else "it said nothing"

    def is_usable(self, token: Token) -> bool:
        return self.token is token and self.process.poll() is None

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for end in (self.calls, self.answers):
            with contextlib.suppress(OSError):
                end.close()


def _read(line: bytes) -> Any:
    try:
        told = json.loads(line)
        if "done" in told:
            return told["done"]
        kind, words, code = _KINDS[told["trouble"]], str(told["words"]), int(told.get("code") or 0)
    except (ValueError, KeyError, TypeError):
        raise Unanswered("the process that speaks to Slurm answered something else") from None
    raise Refused(words, code=code) if kind is Refused else kind(words)


class Children:
    """Safe to share between threads. `conf` is slurm.conf, `folder` where pyslurm lies if not beside us."""

    def __init__(self, conf: str, deadline: float, *, argv: Sequence[str] = (), folder: str = "") -> None:
        self.deadline = deadline
        self._argv = list(argv) or [sys.executable, "-m", "slurm.native.child"]
        self._env = {
            "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", "SLURM_CONF": conf,
            "PYTHONPATH": ":".join(part for part in (folder, _HOME) if part),
        }  # fmt: skip
        self._by_name: dict[str, Child] = {}
        self._lock = threading.Lock()

    def ask(self, token: Token, call: str, **facts: Any) -> Any:
        return self._of(token).ask(call, facts, self.deadline)

    def _of(self, token: Token) -> Child:
        with self._lock:
            known = self._by_name.pop(token.name, None)
            if known is None or not known.is_usable(token):
                if known is not None:
                    known.end()
                known = self._start(token)
            self._by_name[token.name] = known
            while len(self._by_name) > MOST:
                self._by_name.pop(next(iter(self._by_name))).end()
            return known

    def _start(self, token: Token) -> Child:
        complaints = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the child)
        pipe = subprocess.PIPE
        env = {**self._env, "SLURM_JWT": token.text}
        try:
            process = subprocess.Popen(self._argv, env=env, stdin=pipe, stdout=pipe, stderr=complaints, cwd="/")
        except OSError as error:
            raise Unreachable(f"the process that speaks to Slurm cannot be started: {error}") from None
        calls, answered = process.stdin, process.stdout
        if calls is None or answered is None:
            raise Unreachable("the process that speaks to Slurm has no pipes")
        return Child(token, process, calls, answered, complaints)

    def close(self) -> None:
        with self._lock:
            while self._by_name:
                self._by_name.popitem()[1].end()
