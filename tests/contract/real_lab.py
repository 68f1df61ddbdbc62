"""A running private stack as a lab: its services are stopped and started by name, its people are the demo's."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from slurm.base import Base
from slurm.commands import Commands
from slurm.native.children import Children
from slurm.native.gateway import PyslurmGateway
from slurm.operating import ScontrolNodes
from slurm.rest import RestGateway
from slurm.sacctmgr import Sacctmgr
from slurm.signer import Policy, Signer
from slurm.tokens import Token
from slurm.wire import Wire
from tests.contract.lab import Person

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]
WRAPPER = '#!/bin/sh\nexec nsenter -t {pid} -m -r -- setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/{program} "$@"\n'


CHILD = """#!/bin/sh
export PYTHONPATH=/srv/var/pyslurm:/srv/bancada
exec nsenter -t {pid} -m -r -- setpriv --reuid=65534 --regid=65534 --clear-groups \\
  /srv/bancada/.venv/bin/python -m slurm.native.child
"""


class KeyTokens:
    """Tokens signed in this process: the signer has tests of its own."""

    def __init__(self, key: bytes) -> None:
        self._signer = Signer(Policy({}), key)
        self._kept: dict[str, Token] = {}

    def of(self, user: str) -> Token:
        if user not in self._kept or not self._kept[user].is_fresh():
            self._kept[user] = self._signer.token(user)
        return self._kept[user]

    def admin(self) -> Token:
        return self.of("bancada")

    def reading(self) -> Token:
        return self.of("bancada-read")


@dataclasses.dataclass(frozen=True)
class Hurried(Commands):
    """Kills what changes something after so many seconds."""

    patience: float = 1.0

    def tell(self, token: Token, program: str, *args: str, lines: Sequence[str], deadline: float) -> list[str]:
        return super().tell(token, program, *args, lines=lines, deadline=self.patience)


class RealLab:
    name = "real"
    davi = Person("davi", 20004, "visao", "visao-2026")
    felipe = Person("felipe", 20006, "atlas", "atlas-2026")
    iara = Person("iara", 20009, "visao", "visao-2026")

    def __init__(self, var: Path, folder: Path, *, deadline: float = 12.0) -> None:
        self.var = var
        self.inside = Path(f"/proc/{self._pid('supervisor')}/root/srv/var")
        self._wrap(folder)
        commands = Commands("/srv/var/slurm/slurm.conf", 15.0, str(folder))
        tokens = KeyTokens((var / "secrets/slurm-jwt").read_bytes())
        wire = Wire(self.inside / "run/slurmrestd/rest.sock", deadline=deadline)
        self.gateway: Base = RestGateway(tokens, commands, wire)
        if os.environ.get("BANCADA_CONTRACT_GATEWAY") == "pyslurm":
            self.gateway = PyslurmGateway(tokens, commands, Children(commands.conf, 15.0, argv=[self._child(folder)]))
        self.accounts = Sacctmgr(self.gateway)
        self.nodes = ScontrolNodes(self.gateway)

    def _pid(self, service: str) -> int:
        return int((self.var / "run/pid" / service).read_text().split()[0])

    def _child(self, folder: Path) -> str:
        """pyslurm's process, inside as nobody; the pyslurm of `make test-pyslurm` lies in the stack's var."""
        path = folder / "child"
        path.write_text(CHILD.format(pid=self._pid("supervisor")))
        path.chmod(0o755)
        return str(path)

    def _wrap(self, folder: Path) -> None:
        """Slurm's commands, run inside the stack's namespace by nobody: a token is all they have."""
        for program in ("squeue", "sacct", "sacctmgr", "scontrol", "scancel"):
            path = folder / program
            path.write_text(WRAPPER.format(pid=self._pid("supervisor"), program=program))
            path.chmod(0o755)

    def inside_as_root(self, *words: str) -> str:
        return self._stack("exec", "--", *words)

    def _stack(self, act: str, *words: str) -> str:
        done = self._run(act, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _run(self, act: str, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "stack", act, "--var", str(self.var), *words]
        return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def folder(self, person: Person) -> str:
        return f"/srv/var/projects/{person.account}"

    def script(self, key: str) -> str:
        gate = f"/srv/var/home/gate-{key}"
        return f"#!/bin/bash\nwhile [ ! -s {gate} ]; do sleep 0.2; done\nexit $(cat {gate})\n"

    def sbatch(self, person: Person, account: str, *, partition: str = "gpu", gpus: int = 1, minutes: int = 5) -> int:
        words = [f"--account={account}", f"--qos={account}", f"--partition={partition}", f"--time={minutes}"]
        words += [f"--gres=gpu:a100:{gpus}"] if gpus else []
        argv = ["sbatch", "--parsable", "--output=/dev/null", "--chdir=/tmp", *words, "--wrap", "sleep 600"]
        done = self._run("exec", "--user", person.user, "--", *argv)
        assert done.returncode == 0 or "submit limit" in done.stderr or "Invalid" in done.stderr, done.stderr
        return int(done.stdout) if done.returncode == 0 else 0

    def another_hand(self, account: str, user: str, *, gpus: int) -> None:
        self._sacctmgr(
            "modify", "user", "where", f"name={user}", f"account={account}", "set", f"GrpTRES=billing={gpus}"
        )

    def another_limit(self, qos: str, word: str, value: int) -> None:
        self._sacctmgr("modify", "qos", "where", f"name={qos}", "set", f"{word}={value}")

    def _sacctmgr(self, *words: str) -> None:
        argv = ["env", "SLURM_CONF=/srv/var/slurm/slurm.conf", "sacctmgr", "-i", *words]
        self._stack("exec", "--user", "bancada-slurmctld", "--", *argv)

    def end(self, job_id: int, key: str, *, exit_code: int = 0) -> None:
        (self.var / f"home/gate-{key}").write_text(f"{exit_code}\n")

    def requeue(self, job_id: int) -> None:
        self.inside_as_root("scontrol", "requeue", str(job_id))

    def until(self, look: Callable[[], T], *, seconds: float = 30) -> T:
        until = time.monotonic() + seconds
        while not (seen := look()):
            assert time.monotonic() < until, "it did not happen"
            time.sleep(0.3)
        return seen

    @contextlib.contextmanager
    def feature(self, node: str, name: str) -> Iterator[None]:
        self._scontrol("update", f"NodeName={node}", f"AvailableFeatures={name}")
        try:
            yield
        finally:
            for what in ("ActiveFeatures=", "AvailableFeatures="):
                self._scontrol("update", f"NodeName={node}", what)

    @contextlib.contextmanager
    def reservation(self, name: str, node: str, user: str) -> Iterator[None]:
        when = ("StartTime=now+1days", "Duration=60")
        self._scontrol("create", f"ReservationName={name}", *when, f"Nodes={node}", f"Users={user}")
        try:
            yield
        finally:
            self.inside_as_root("scancel", "--quiet", f"--user={user}")  # what waits for it keeps it
            self.until(lambda: self._run("exec", "--", "scontrol", "delete", f"ReservationName={name}").returncode == 0)

    def _scontrol(self, *words: str) -> None:
        self.inside_as_root("scontrol", *words)

    @contextlib.contextmanager
    def sacctmgr_killed(self, seconds: float) -> Iterator[None]:
        whole = self.gateway.commands
        self.gateway.commands = Hurried(whole.conf, whole.deadline, whole.folder, seconds)
        yield
        self.gateway.commands = whole

    @contextlib.contextmanager
    def slurmctld_stopped(self) -> Iterator[None]:
        pid = self._pid("slurmctld")
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    @contextlib.contextmanager
    def _down(self, service: str) -> Iterator[None]:
        """Only this one: the stack's own stop takes along what needs it."""
        pid = self._pid(service)
        os.kill(pid, signal.SIGTERM)
        self.until(lambda: _has_ended(pid))
        try:
            yield
        finally:
            self._stack("start", service)

    def slurmctld_down(self) -> contextlib.AbstractContextManager[None]:
        return self._down("slurmctld")

    def slurmrestd_down(self) -> contextlib.AbstractContextManager[None]:
        return self._down("slurmrestd")

    def slurmdbd_down(self) -> contextlib.AbstractContextManager[None]:
        return self._down("slurmdbd")


def _has_ended(pid: int) -> bool:
    """Gone, or dead with all its threads: a dying slurmrestd still takes connections and resets them.

    A zombie has closed its files; one whose memory is gone already (an empty command line) may not have yet.
    """
    process = Path(f"/proc/{pid}")
    try:
        state = (process / "stat").read_text().rpartition(") ")[2][:1]
        return state in "ZX" and len(list((process / "task").iterdir())) == 1
    except OSError:
        return True
