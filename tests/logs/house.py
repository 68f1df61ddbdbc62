"""A log opener and a log reader as they run in production, over a temporary folder of job output."""

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
from collections.abc import Iterator
from pathlib import Path

from logs import keys
from logs.asking import ask
from logs.client import AsyncReader, Reader
from logs.tickets import Ticket, sign

ROOT = Path(__file__).resolve().parent.parent.parent
READER_UID, OWNER, STRANGER = 61999, 20001, 20002
SUBMITTED = 1_700_000_000


class House:
    """Both processes, their sockets, a signing key and a folder `output` that belongs to OWNER alone."""

    def __init__(
        self,
        *,
        deadline: float = 3.0,
        allow_uid: int = READER_UID,
        opener_prefix: tuple[str, ...] = (),
        max_files: int = 512,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bancada-logs-", dir="/tmp"))
        self.folder.chmod(0o711)
        self.output = self._folder("output", OWNER, 0o700)
        self.run = self._folder("run", READER_UID, 0o711)
        self.keys = self._folder("keys", 0, 0o755)
        self.key_id = keys.generate(self.folder / "signing.pem", self.keys)
        self.private = keys.load_private(self.folder / "signing.pem")
        self.opener_socket, self.reader_socket = self.folder / "opener.sock", self.run / "reader.sock"
        self.max_files = max_files
        self.deadline, self.allow_uid, self.opener_prefix = deadline, allow_uid, opener_prefix
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.reader = Reader(self.reader_socket)

    def start(self, *names: str) -> None:
        """Start "opener" and "reader", or the ones named."""
        commands = {"opener": self.opener_command(), "reader": self.reader_command()}
        for name in names or ("opener", "reader"):
            self.processes[name] = subprocess.Popen(commands[name], cwd=ROOT, stderr=subprocess.PIPE)
        for name in names or ("opener", "reader"):
            wait_until(lambda name=name: self._answers(name) or self.processes[name].poll() is not None)
            assert self.processes[name].poll() is None, self.processes[name].stderr.read()

    def opener_command(self) -> list[str]:
        """The command line of the opener."""
        return [
            *self.opener_prefix,
            sys.executable,
            "-m",
            "logs.opener",
            "--socket",
            str(self.opener_socket),
            "--keys",
            str(self.keys),
            "--allow-uid",
            str(self.allow_uid),
            "--socket-owner",
            str(READER_UID),
            "--deadline",
            str(self.deadline),
        ]

    def reader_command(self, *more: str, groups: str = "") -> list[str]:
        """The command line of the reader, started as its own uid wherever the checkout lies."""
        return as_uid(READER_UID, [*self.reader_as_root(), *more], groups=groups)

    def reader_as_root(self) -> list[str]:
        """The same without taking on a uid."""
        return [
            sys.executable,
            "-m",
            "logs.reader",
            "--socket",
            str(self.reader_socket),
            "--opener",
            str(self.opener_socket),
            "--deadline",
            str(self.deadline + 1),
            "--max-files",
            str(self.max_files),
        ]

    def stop(self, name: str, number: int = signal.SIGTERM) -> int:
        """End one process and give its exit status."""
        process = self.processes.pop(name)
        process.send_signal(number)
        status = process.wait(10)
        process.stderr.close()
        return status

    def close(self) -> None:
        """End both, remove everything."""
        self.reader.close()
        for name in list(self.processes):
            self.stop(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name: str, data: bytes, *, uid: int = OWNER, append: bool = False) -> Path:
        """Write a file of the owner's, in place."""
        path = self.output / name
        with path.open("ab" if append else "wb") as file:
            file.write(data)
        os.chown(path, uid, uid)
        path.chmod(0o600)
        return path

    def ask(self, ticket: str, stream: str = "stdout") -> str:
        """Ask the opener oneself (where `allow_uid` allows it): its word, or the bytes behind the descriptor."""
        answer, descriptor = ask(self.opener_socket, stream, ticket)
        if descriptor < 0:
            return answer
        with os.fdopen(descriptor, "rb") as file:
            return f"ok {file.read(4096).decode('latin-1')}"

    def ticket(self, name: str | Path, *, stderr: str | Path = "", **changes: object) -> str:
        """A signed ticket for a file in `output` (or at an absolute path)."""
        fields: dict[str, object] = {
            "cluster": "bench",
            "job_id": 7,
            "submit_time": SUBMITTED,
            "uid": OWNER,
            "user": "dora",
            "stdout": str(self.output / name),
            "stderr": str(self.output / stderr) if stderr else "",
            "restart_count": 0,
            "not_after": int(time.time()) + 3600,
            "key_id": self.key_id,
        }
        return sign(Ticket(**fields | changes), self.private)

    def asynchronous(self) -> AsyncReader:
        """A new asynchronous client (of the running loop)."""
        return AsyncReader(self.reader_socket)

    def memory(self, name: str = "reader") -> int:
        """Resident kilobytes of a process."""
        status = Path(f"/proc/{self.processes[name].pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])

    def _folder(self, name: str, uid: int, mode: int) -> Path:
        path = self.folder / name
        path.mkdir()
        os.chown(path, uid, uid)
        path.chmod(mode)
        return path

    def _answers(self, name: str) -> bool:
        kind, path = {
            "opener": (socket.SOCK_SEQPACKET, self.opener_socket),
            "reader": (socket.SOCK_STREAM, self.reader_socket),
        }[name]
        with socket.socket(socket.AF_UNIX, kind) as probe:
            return probe.connect_ex(str(path)) == 0


@contextlib.contextmanager
def running(*names: str, **options: object) -> Iterator[House]:
    """A house that runs while the block does, whole or only the processes named."""
    house = House(**options)
    try:
        house.start(*names)
        yield house
    finally:
        house.close()


def as_uid(uid: int, command: list[str], *, groups: str = "") -> list[str]:
    """The command run by a uid without privileges; a checkout it cannot reach is bound where it can."""
    member = f"--groups={groups}" if groups else "--clear-groups"
    drop = ["setpriv", f"--reuid={uid}", f"--regid={uid}", member, "--no-new-privs", "--inh-caps=-all"]
    if all(part.stat().st_mode & 0o001 for part in [ROOT, *ROOT.parents]):
        return [*drop, *command]
    open_up = 'mount -t tmpfs -o mode=711 none /mnt && mkdir /mnt/app && mount --bind "$0" /mnt/app && cd /mnt/app'
    moved = [part.replace(str(ROOT), "/mnt/app") for part in command]
    return [
        "unshare",
        "-m",
        "--propagation",
        "private",
        "sh",
        "-c",
        open_up + ' && exec "$@"',
        str(ROOT),
        *drop,
        *moved,
    ]


def wait_until(what: object, seconds: float = 10.0) -> None:
    """Poll until `what()` is true; an assertion after the time."""
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "did not happen in time"
        time.sleep(0.01)
