"""Everything that can be known to be wrong before anything is started, each in one sentence."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

from stack import packages
from stack.fault import Fault
from stack.layout import PORTS, Stack
from stack.service import Service, closure
from stack.table import table


def check(stack: Stack, names: list[str]) -> None:
    root()
    programs()
    mount_namespace()
    readable(stack)
    stack.var.mkdir(parents=True, exist_ok=True)
    stack.var.chmod(0o755)
    ports(stack, names)


def root() -> None:
    if os.geteuid() != 0:
        raise Fault("The stack needs root to give each service a user of its own: run it as root or with sudo.")


def programs() -> None:
    missing = packages.missing()
    if missing:
        raise Fault(f"These Debian packages are missing (make up installs them): {' '.join(missing)}.")


def mount_namespace() -> None:
    if subprocess.run(["unshare", "--mount", "--propagation", "private", "true"], capture_output=True).returncode:
        raise Fault(
            "This machine does not let root make a mount namespace (unshare --mount): is it a closed container?"
        )


def readable(stack: Stack) -> None:
    """Portal processes run as users of their own: what they run must be open to others (umask 022)."""
    closed = [
        path for path in (Path(__file__), stack.checkout / "manage.py", stack.checkout / ".venv") if _closed(path)
    ]
    if closed:
        raise Fault(f"{closed[0]} is closed to other users: chmod -R go+rX {stack.checkout} opens the checkout.")


def _closed(path: Path) -> bool:
    return path.exists() and not path.stat().st_mode & 0o004


def ports(stack: Stack, names: list[str]) -> None:
    services = table(stack)
    taken = [name for name in _needed(closure(services, names)) if _taken(stack.tcp(name))]
    if taken:
        port = stack.tcp(taken[0])
        raise Fault(
            f"Port {port} on 127.0.0.1, meant for {taken[0]}, is taken{_by(port)}: free it or choose others with PORT=."
        )


def _needed(services: list[Service]) -> list[str]:
    used = {service.port for service in services}
    return [name for name in PORTS if name in used or (name == "ldaps" and "ldap" in used)]


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def _by(port: int) -> str:
    """ " by NAME (pid N)", where the system can say."""
    if not shutil.which("ss"):
        return ""
    out = subprocess.run(["ss", "-Hltnp", f"sport = :{port}"], capture_output=True, text=True).stdout
    name, _, rest = out.partition('users:(("')[2].partition('",pid=')
    return f" by {name} (pid {rest.split(',')[0]})" if name else ""
