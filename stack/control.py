"""Acts on a stack from outside its namespace: up, down, status, logs, reset, exec."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable

from stack import folders, namespace, pidfile, preflight
from stack.fault import Fault
from stack.layout import PYTHON, Stack, remember


def supervisor(stack: Stack) -> int | None:
    """Its pid, if it runs and is this stack's."""
    pid = pidfile.read(stack.var / "run/pid/supervisor") if stack.var.exists() else None
    return pid if pid and pid in namespace.members(stack) else None


def need(stack: Stack) -> int:
    pid = supervisor(stack)
    if pid is None:
        raise Fault(f"No stack runs at {stack.var}: start it with make up.")
    return pid


def up(stack: Stack, names: list[str], say: Callable[[str], None] = print) -> None:
    """Start these services and what they need; what runs already is left alone."""
    if supervisor(stack) is None:
        preflight.check(stack, names)
        folders.make(stack)
        sweep(stack)
        _spawn(stack)
    if names:
        ask(stack, "start", names, say)


def _spawn(stack: Stack) -> None:
    words = [*namespace.UNSHARE, PYTHON, "-m", "stack", "supervise", "--var", str(stack.var), "--port", str(stack.port)]
    words += [f"--env={setting}" for setting in stack.settings]
    with (stack.var / "log/supervisor.log").open("ab") as log:
        os.fchmod(log.fileno(), 0o600)
        process = subprocess.Popen(
            words, cwd=stack.checkout, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    remember(stack)
    deadline = time.monotonic() + 15
    while supervisor(stack) is None:
        if process.poll() is not None or time.monotonic() > deadline:
            raise Fault(f"The supervisor did not start; {stack.var}/log/supervisor.log says why.")
        time.sleep(0.05)


def ask(stack: Stack, act: str, names: list[str], say: Callable[[str], None]) -> None:
    """Send one request to the supervisor and pass its progress on."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(f"/proc/{need(stack)}/root/srv/var/run/control.sock")
        link.sendall(json.dumps({"do": act, "names": names}).encode() + b"\n")
        for line in link.makefile():
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "fault":
                raise Fault(rest)
            if word == "ok":
                return
            say(line.rstrip("\n"))
    raise Fault(f"The supervisor ended; {stack.var}/log/supervisor.log says why.")


def restart(stack: Stack, names: list[str]) -> None:
    """Stop these and all that need them, and start again what was stopped."""
    stopped: list[str] = []
    ask(stack, "stop", names, lambda line: stopped.append(line.split()[0]))
    ask(stack, "start", [*names, *stopped], print)


def down(stack: Stack) -> None:
    """End all that this stack started, by pid and in order, and nothing else."""
    pid = supervisor(stack)
    if pid:
        os.kill(pid, signal.SIGTERM)
        _until(lambda: pidfile.started(pid) == "", 90)
    if stack.var.exists():
        sweep(stack)
        (stack.var / "run/status.json").unlink(missing_ok=True)
        for path in (stack.var / "run/pid").glob("*"):
            path.unlink()


def sweep(stack: Stack) -> None:
    """End what is left inside the namespace: jobs still running, children of a supervisor that was killed."""
    for number, patience in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 10.0)):
        for pid in _others(stack):
            _signal(pid, signal.SIGCONT)
            _signal(pid, number)
        if _until(lambda: not _others(stack), patience):
            return


def _others(stack: Stack) -> list[int]:
    return [pid for pid in namespace.members(stack) if pid != os.getpid() and pidfile.started(pid)]


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _until(true: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def status(stack: Stack) -> int:
    """Print one line a process; 0 when all that were started are ready."""
    if supervisor(stack) is None:
        print(f"down     nothing runs at {stack.var}")
        return 3
    rows = json.loads((stack.var / "run/status.json").read_text())
    for name, row in rows.items():
        print(f"{row['state']:<8} {name:<16} {row['pid'] or '-':>8}  {row['note']}".rstrip())
    return 0 if all(row["state"] == "ready" for row in rows.values()) else 1


def logs(stack: Stack, names: list[str], follow: bool) -> None:
    """Show the last lines of these logs (none: all)."""
    files = [stack.var / f"log/{name}.log" for name in names] or sorted((stack.var / "log").glob("*.log"))
    missing = [path.stem for path in files if not path.exists()]
    if missing or not files:
        raise Fault(f"There is no log of {', '.join(missing) or 'anything yet'} under {stack.var}/log.")
    os.execvp("tail", ["tail", "-n", "20", *(["-F"] if follow else []), *map(str, files)])


def reset(stack: Stack) -> None:
    """Down, and throw away what it kept; a folder that is not a stack's own is left alone."""
    if not stack.var.exists():
        return
    if not (stack.var / "identities.json").exists() and any(stack.var.iterdir()):
        raise Fault(f"{stack.var} was not made by the stack: nothing is removed.")
    down(stack)
    shutil.rmtree(stack.var)


def as_user(user: str) -> list[str]:
    """The part of a command line inside that drops root for this user and its groups."""
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]


def execute(stack: Stack, command: list[str], env: dict[str, str] | None = None, user: str | None = None) -> None:
    """Become this command, inside the namespace; as `user`, else as root."""
    line = [*namespace.enter(need(stack)), *(as_user(user) if user else []), *command]
    own = {**os.environ, "SLURM_CONF": "/srv/var/slurm/slurm.conf"}
    os.execvpe(line[0], line, own if env is None else env)
