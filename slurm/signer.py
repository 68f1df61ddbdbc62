"""The signer: the one process that holds Slurm's JWT key, and what it signs for whom.

python -m slurm.signer --socket PATH --key FILE --allow UID=user,admin --allow UID=read

It listens on a Unix socket, takes one JSON line a connection and answers with one: {"kind": "user", "name": "ana"},
{"kind": "admin"} or {"kind": "read"} become {"name", "expires", "token"} or {"error"}.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import json
import os
import pwd
import re
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import jwt

from slurm.signer_loop import serve
from slurm.tokens import Token

LIFETIME = 60  # seconds; a stolen token is worth no more
ADMIN, READER = "bancada", "bancada-read"
NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
FIRST_UID, NOBODY = 1000, 65534
KINDS = frozenset({"user", "admin", "read"})
_PR_SET_DUMPABLE = 4


class No(Exception):
    """The answer is no; the words are for the log and for the caller."""


@dataclasses.dataclass(frozen=True)
class Policy:
    """`allow`: peer uid to the kinds it may ask for. `slurm_user` is never signed for, by name or by uid."""

    allow: Mapping[int, frozenset[str]]
    slurm_user: str = "slurm"

    def subject(self, uid: int, kind: object, name: object) -> str:
        """The name to sign for this peer; raises No."""
        if kind not in KINDS or kind not in self.allow.get(uid, frozenset()):
            raise No("not yours to ask for")
        if kind == "user":
            return self._person(name)
        if name is not None:
            raise No("this kind has no name")
        return ADMIN if kind == "admin" else READER

    def _person(self, name: object) -> str:
        """A login name as the system knows it. Slurm takes "0" for root: nothing but a checked name gets through."""
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise No("not a login name")
        if name in (ADMIN, READER, self.slurm_user):
            raise No("not a person")
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            raise No("no such user on this system") from None
        if entry.pw_name != name or entry.pw_uid < FIRST_UID or entry.pw_uid in (NOBODY, self._slurm_uid()):
            raise No("not a person")
        return name

    def _slurm_uid(self) -> int:
        try:
            return pwd.getpwnam(self.slurm_user).pw_uid
        except KeyError:
            return -1


@dataclasses.dataclass(frozen=True)
class Signer:
    """Turns a line into a line."""

    policy: Policy
    key: bytes = dataclasses.field(repr=False)

    def answer(self, uid: int, line: bytes) -> bytes:
        """Never raises; says what was signed, never the token."""
        try:
            question = _question(line)
            name = self.policy.subject(uid, question.get("kind"), question.get("name"))
        except No as no:
            say(f"refused uid={uid}: {no}")
            return json.dumps({"error": str(no)}).encode() + b"\n"
        say(f"signed uid={uid} for={name}")
        token = self.token(name)
        return json.dumps({"name": name, "expires": token.expires, "token": token.text}).encode() + b"\n"

    def token(self, name: str) -> Token:
        """Signed without asking the policy."""
        now = int(time.time())
        text = jwt.encode({"iat": now, "exp": now + LIFETIME, "sun": name}, self.key, algorithm="HS256")
        return Token(name, now + LIFETIME, text)


def _question(line: bytes) -> Mapping[str, object]:
    try:
        question = json.loads(line)
    except (ValueError, RecursionError):
        raise No("not a JSON line") from None
    if not isinstance(question, dict) or not set(question) <= {"kind", "name"}:
        raise No("not a question")
    if not all(isinstance(value, str) for value in question.values()):
        raise No("not a question")
    return question


def say(words: str) -> None:
    sys.stderr.write(f"signer: {words}\n")


def read_key(path: Path) -> bytes:
    """Slurm's key file, byte for byte; refuses one that others may read."""
    if path.stat().st_mode & 0o007:
        raise SystemExit(f"signer: {path} is open to everybody; chmod o-rwx it")
    key = path.read_bytes()
    if len(key) < 32:
        raise SystemExit(f"signer: {path} holds {len(key)} bytes; a key has at least 32")
    return key


def allowed(entries: Sequence[str]) -> dict[int, frozenset[str]]:
    """ "1002=user,admin" or "bancada-slurm=user,admin", each once, to a table by uid."""
    table: dict[int, frozenset[str]] = {}
    for entry in entries:
        who, _, kinds = entry.partition("=")
        uid = int(who) if who.isdecimal() else pwd.getpwnam(who).pw_uid
        asked = frozenset(kinds.split(","))
        if not asked <= KINDS or uid == 0 or uid in table:
            raise SystemExit(f"signer: cannot take --allow {entry}")
        table[uid] = asked
    return table


def slurm_user(conf: str) -> str:
    """SlurmUser of slurm.conf, "slurm" where there is none to read."""
    try:
        match = re.search(r"(?im)^\s*SlurmUser\s*=\s*([^\s#(]+)", Path(conf).read_text())
    except OSError:
        match = None
    return match[1] if match else "slurm"


def harden() -> None:
    """No core file, no debugger of the same uid: the key stays in this process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def arguments() -> argparse.ArgumentParser:
    env = os.environ.get
    parser = argparse.ArgumentParser(prog="slurm.signer", description="Sign short-lived Slurm tokens.")
    parser.add_argument("--socket", default=env("BANCADA_SIGNER_SOCKET"), help="Unix socket to listen on")
    parser.add_argument("--key", default=env("BANCADA_JWT_KEY_FILE"), help="Slurm's JWT key file")
    parser.add_argument("--allow", action="append", default=[], metavar="USER=KINDS", help="user,admin or read")
    parser.add_argument("--slurm-user", default="", help="default: SlurmUser of SLURM_CONF, else slurm")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    args = arguments().parse_args(argv)
    entries = args.allow or os.environ.get("BANCADA_SIGNER_ALLOW", "").split()
    if not (args.socket and args.key and entries):
        raise SystemExit("signer: needs --socket, --key and at least one --allow")
    harden()
    policy = Policy(allowed(entries), args.slurm_user or slurm_user(os.environ.get("SLURM_CONF", "")))
    signer = Signer(policy, read_key(Path(args.key)))
    serve(args.socket, signer.answer, known=policy.allow)


if __name__ == "__main__":
    main()
