"""The files' door as it runs in production, over a project's folder with two people in it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from files.client import Checked, Door, Entry
from files.tickets import Ticket, sign
from logs import keys
from tests.logs.house import ROOT, wait_until

ANA, BETO, STRANGER, GROUP = 40011, 40012, 40013, 40011
LOGINS = {ANA: "ana-t", BETO: "beto-t", STRANGER: "caio-t"}


COUNTING = """
import os, sys
from files import opener
tally, fork = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), os.fork
def counted():
    os.write(tally, b".")
    return fork()
os.fork = counted
sys.exit(opener.main())
"""


class Place:
    """The process, its keys, `project` (ANA's, set-group-id, open to her group) and `secret` (a stranger's)."""

    def __init__(self, *, allow: int = 0, silence: float = 10.0, project: Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bancada-files-", dir="/tmp"))
        self.folder.chmod(0o711)
        self.keys = self.folder / "keys"
        self.keys.mkdir()
        self.key_id = keys.generate(self.folder / "signing.pem", self.keys)
        self.private = keys.load_private(self.folder / "signing.pem")
        self.project = project or self.folder / "project"
        self.project.mkdir(exist_ok=True)
        own(self.project, ANA, 0o2770)
        self.secret = self.folder / "other" / "secret"
        self.secret.parent.mkdir()
        own(self.secret.parent, STRANGER, 0o755)
        self.secret.write_bytes(b"another tenant's secret")
        own(self.secret, STRANGER, 0o600)
        self.socket = self.folder / "files.sock"
        self.allow, self.silence = allow, silence
        self.process: subprocess.Popen[bytes] | None = None
        self.tally = self.folder / "forks"

    @property
    def forks(self) -> int:
        """How often the root process forked since it began."""
        return self.tally.stat().st_size

    def start(self) -> None:
        """Start the opener, which notes each fork, and wait until it answers."""
        command = [sys.executable, "-c", COUNTING, str(self.tally)]
        command += ["--socket", str(self.socket), "--keys", str(self.keys)]
        command += ["--allow-uid", str(self.allow), "--silence", str(self.silence)]
        self.process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)
        wait_until(self._answers)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            return probe.connect_ex(str(self.socket)) == 0

    def close(self) -> None:
        """End the process, remove everything."""
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(10)
            self.process.stderr.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ticket(self, uid: int = ANA, **changes: object) -> str:
        """A signed ticket of somebody for the project's folder."""
        fields: dict[str, object] = {
            "cluster": "bench", "project": "ipe", "uid": uid, "user": LOGINS[uid], "root": str(self.project),
            "rights": "rw", "not_after": int(time.time()) + 600, "key_id": self.key_id,
        }  # fmt: skip
        return sign(Ticket(**fields | changes), self.private)

    def door(self, uid: int = ANA, **changes: object) -> Door:
        """A connection of somebody's."""
        return Door(self.socket, self.ticket(uid, **changes), timeout=15)

    def write(self, name: str, data: bytes, *, uid: int = ANA, mode: int = 0o660) -> Path:
        """A file in the project's folder."""
        path = self.project / name
        path.write_bytes(data)
        own(path, uid, mode)
        return path

    def upload(self, name: str, data: bytes, *, uid: int = ANA, overwrite: bool = False) -> str:
        """The whole of it in one piece; gives the digest the door computed."""
        upload = os.urandom(16).hex()
        with self.door(uid) as door:
            at = door.begin(name, upload, len(data), overwrite=overwrite)
            door.piece(name, upload, at, len(data), [data])
            return finish(door, name, upload, len(data), overwrite=overwrite)[1]

    def names(self) -> list[str]:
        """What really lies in the project's folder."""
        return sorted(path.name for path in self.project.iterdir())


def finish(door: Door, name: str, upload: str, size: int, **more: Any) -> tuple[Entry, str, bool | None]:
    """Check and name an upload: (entry, SHA-256, whether something was replaced)."""
    checked = exhaust(door.check(name, upload, size, **more))
    entry, replaced = door.finish(name, upload, checked.stamp, overwrite=more.get("overwrite", False))
    return entry, checked.digest, replaced


def exhaust(steps: Generator[int, None, Checked]) -> Checked:
    """What a check gives in the end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def own(path: Path, uid: int, mode: int) -> None:
    """Owner, the group of the project, mode."""
    os.chown(path, uid, GROUP if uid == ANA else uid, follow_symlinks=False)
    path.chmod(mode)


@contextlib.contextmanager
def running(**options: object) -> Iterator[Place]:
    """A place whose door runs while the block does."""
    place = Place(**options)
    try:
        place.start()
        yield place
    finally:
        place.close()
